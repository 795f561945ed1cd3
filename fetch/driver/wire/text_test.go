package wire

import "testing"

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":               "",
		"plain":          "plain",
		"gr\u00fc\u00df": "gr\u00fc\u00df",
		"gr\xfc\xdf":     "gr\u00fc\u00df",
		"\u65e5\xe9":     "\u00e6\u0097\u00a5\u00e9", // with one invalid byte, the whole text is Latin-1
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}
