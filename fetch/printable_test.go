package fetch_test

import (
	"testing"
	"unicode"

	"github.com/urlget/urlget/fetch"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                          "",
		"plain, grüße, 日本語 😀":       "plain, grüße, 日本語 😀",
		"a\nb\rc\td":                `a\nb\rc\td`,
		"\x1b[31mred\x07":           `\x1b[31mred\x07`,
		"\x00\x7f":                  `\x00\x7f`,
		"C1 \u009b31m":              `C1 \u009b31m`,
		"Latin-1 caf\xe9":           `Latin-1 caf\xe9`,
		"cut \xe6\x97":              `cut \xe6\x97`,
		"bidi \u202egnp.exe":        `bidi \u202egnp.exe`,
		"invisible \u200b":          `invisible \u200b`,
		"tag \U000e0041":            `tag \U000e0041`,
		"line\u2028paragraph\u2029": `line\u2028paragraph\u2029`,
		"real \ufffd":               "real \ufffd",
		`a\nb`:                      `a\nb`,
	}
	for in, want := range tests {
		if got := fetch.Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b\u202e\xff\ufffd\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := fetch.Printable(s)
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Errorf("Printable(%q) holds %q", s, r)
			}
		}
		if again := fetch.Printable(got); again != got {
			t.Errorf("Printable(%q) = %q, and of that %q", s, got, again)
		}
	})
}

func TestReplyString(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]fetch.Reply{
		"":                  {},
		"226":               {Code: 226},
		"550 no\\nfile":     {Code: 550, Text: "no\nfile\r\n"},
		"51 Nothing":        {Code: 51, Text: "Nothing"}, // Gemini codes have two digits
		"7":                 {Code: 7},
		"it \\x1b[1m is on": {Text: "it \x1b[1m is on"},
	} {
		if got := r.String(); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}
