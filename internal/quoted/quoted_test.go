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
