package weblink

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// text writes links with their parameters in order.
func text(line string) string {
	var list []string
	for target, params := range All(line) {
		part := target
		for _, name := range slices.Sorted(maps.Keys(params)) {
			part += fmt.Sprintf(" %s=%q", name, params[name])
		}
		list = append(list, part)
	}
	return strings.Join(list, " | ")
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`<http://h/>; rel="original"`:                      `http://h/ rel="original"`,
		`<a>;REL=next ; rel=prev, <b>;title="a, <b>; \"c"`: `a rel="next" | b title="a, <b>; \"c"`,
		`<a>; anchor`:    `a anchor=""`,
		`<a>; rel="open`: `a rel="open"`,
		`<a`:             ``,
		`nothing`:        ``,
		`<>`:             ``,
		`x <a> y <b>`:    `a | b`,
	} {
		if got := text(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func FuzzLinks(f *testing.F) {
	f.Add(`<http://h/>; rel="original", <b>; title="\"`)
	f.Fuzz(func(t *testing.T, line string) {
		n := 0
		for range All(line) {
			n++
		}
		if n > strings.Count(line, "<") {
			t.Errorf("%d links in %q", n, line)
		}
	})
}
