package marc

import (
	"errors"
	"reflect"
	"strings"
	"testing"
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
	if !reflect.DeepEqual(got.Fields, sample.Fields) || err != nil {
		t.Errorf("%+v, %v; want %+v", got.Fields, err, sample.Fields)
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
		"only a leader":            good[:24],
		"truncated record":         good[:len(good)-1],
		"size is not a number":     "0x" + good[2:],
		"directory beyond the end": good[:12] + "99999" + good[17:],
		"no directory":             good[:12] + "00010" + good[17:],
		"field beyond the end":     good[:24] + "001999900000" + good[36:],
		"overlapping fields":       good[:24] + good[36:48] + good[36:],
		"length is not a number":   good[:24] + "001abcd00000" + good[36:],
		"too large":                strings.Repeat("9", MaxRecord+1),
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
			t.Errorf("%d bytes of text for %d bytes", len(text), len(b))
		}
	})
}
