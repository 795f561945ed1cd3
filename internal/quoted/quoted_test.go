package quoted

import "testing"

func TestCut(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]struct {
		text, rest string
		ok         bool
	}{
		`""`:         {"", "", true},
		`"a b", c`:   {"a b", ", c", true},
		`"a\"\\\b"x`: {`a"\b`, "x", true},
		`a"b"`:       {"", `a"b"`, false},
		``:           {"", "", false},
		`"a`:         {"", `"a`, false},
		`"a\"`:       {"", `"a\"`, false},
		`"a\`:        {"", `"a\`, false},
	} {
		if text, rest, ok := Cut(s); text != want.text || rest != want.rest || ok != want.ok {
			t.Errorf("%s: %q, %q, %v", s, text, rest, ok)
		}
	}
}

func TestCutReadsString(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": `""`, "a b": `"a b"`, `\"`: `"\\\""`} {
		s := String(text)
		if got, rest, ok := Cut(s + "x"); s != want || got != text || rest != "x" || !ok {
			t.Errorf("%q: %s, read as %q, %q, %v", text, s, got, rest, ok)
		}
	}
}
