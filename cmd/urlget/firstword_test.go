package main

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
)

func TestUnknownCommands(t *testing.T) {
	t.Parallel()
	p := newProgram(nil, stdio{}, nil)
	names := commandNames(p.command())
	for word, want := range map[string]string{
		"head": "use urlget stat", "mirror": "use urlget -m", "expalin": "did you mean urlget explain ?",
		"schems": "did you mean urlget schemes ?", "localhost": "for a host, use https://localhost/",
	} {
		wrong, ok := checkFirstWord(p.opts, names, []string{word, "http://h/"}).(*failure.Usage)
		if !ok || !strings.HasPrefix(wrong.Hint, want) {
			t.Errorf("%s: %+v, want %q", word, wrong, want)
		}
	}
	for _, word := range []string{"h.example", "http://h/", "h:80", "Word", "-", ""} {
		if err := checkFirstWord(p.opts, names, []string{word}); err != nil {
			t.Errorf("%q: %v", word, err)
		}
	}
	if err := checkFirstWord(p.opts, names, nil); err != nil {
		t.Error(err)
	}
}
