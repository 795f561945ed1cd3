package serve

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/internal/codec/marc"
)

var pear = marc.Record{Fields: []marc.Field{
	{Tag: "001", Value: "10234"},
	{Tag: "245", Indicators: "14", Subfields: []marc.Subfield{{Code: 'a', Value: "The pear <tree> :"}, {Code: 'b', Value: "a fr\xfcit"}}},
}}

func TestRecordsOfMARCAsText(t *testing.T) {
	t.Parallel()
	one := string(pear.Encode())
	text, _ := marcText([]byte(one))
	if !strings.Contains(text, "10234") || !strings.Contains(text, "The pear <tree> :") || !strings.Contains(text, "a früit") {
		t.Errorf("one record is %q", text)
	}
	for content, want := range map[string]struct{ text, rest string }{
		"":                 {},
		"00":               {rest: "00"},
		"00005":            {rest: "00005"},
		"99999" + one:      {rest: "99999" + one},
		"-0001" + one:      {rest: "-0001" + one},
		one[:len(one)-1]:   {rest: one[:len(one)-1]},
		one + one:          {text: text + "\n" + text},
		one + "\r\n" + one: {text: text + "\n" + text},
		one + "<html>junk": {text: text, rest: "<html>junk"},
	} {
		if text, rest := marcText([]byte(content)); text != want.text || string(rest) != want.rest {
			t.Errorf("%q: %q and %q, want %q and %q", content, text, rest, want.text, want.rest)
		}
	}
}

func FuzzMARC(f *testing.F) {
	f.Add(pear.Encode())
	f.Fuzz(func(t *testing.T, content []byte) {
		if text, rest := marcText(content); len(rest) > len(content) || strings.ContainsAny(text, "\x00\x1b\r") {
			t.Errorf("%q: %q, %q", content, text, rest)
		}
	})
}
