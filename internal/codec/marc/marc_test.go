package marc

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var sample = Record{Fields: []Field{
	{Tag: "001", Value: "x1"},
	{Tag: "100", Indicators: "1 ", Subfields: []Subfield{{'a', "Gardener, Ann,"}, {'d', "1900-"}}},
	{Tag: "245", Indicators: "14", Subfields: []Subfield{{'a', "The tree :"}, {'b', "a tale /"}, {'c', "by her."}}},
}}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	b := sample.Encode()
	got, err := Parse(b)
	if d := cmp.Diff(sample.Fields, got.Fields); d != "" || err != nil {
		t.Error(d, err)
	}
	if got.Title() != "The tree : a tale" || got.Author() != "Gardener, Ann" {
		t.Errorf("%q by %q", got.Title(), got.Author())
	}
	again := Record{got.Leader, got.Fields}
	if string(again.Encode()) != string(b) {
		t.Errorf("%q", again.Encode())
	}
	want := "LDR    00125nam a2200061   4500\n001    x1\n100 1  $a Gardener, Ann, $d 1900-\n245 14 $a The tree : $b a tale / $c by her.\n"
	if text := got.Text(func(s string) string { return s }); text != want {
		t.Errorf("%q", text)
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	good := string(sample.Encode())
	for name, b := range map[string]string{
		"nothing":                  "",
		"a leader":                 good[:24],
		"less than it says":        good[:len(good)-1],
		"a size that is none":      "0x" + good[2:],
		"a directory beyond":       good[:12] + "99999" + good[17:],
		"a directory of no size":   good[:12] + "00010" + good[17:],
		"a field beyond":           good[:24] + "001999900000" + good[36:],
		"fields that overlap":      good[:24] + good[36:48] + good[36:],
		"a field that is no field": good[:24] + "001abcd00000" + good[36:],
		"more than the format has": strings.Repeat("9", MaxRecord+1),
	} {
		if r, err := Parse([]byte(b)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, error %v", name, r, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample.Encode())
	f.Add([]byte("00025nam a2200025   4500\x1d"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b)
		if err != nil {
			return
		}
		r.Title()
		r.Author()
		if text := r.Text(func(s string) string { return s }); len(text) > 20*len(b) {
			t.Errorf("%d bytes of text of %d", len(text), len(b))
		}
	})
}
