package dict

import (
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/quoted"
)

// FuzzFields checks that a quoted string is parsed to the original, and that fields does not panic.
func FuzzFields(f *testing.F) {
	for _, s := range []string{`"a b" db "x \"y\""`, `'a' b`, `a\ b`, `"`, `\`, "", ` ""  '' `} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fields(s)
		got, err := fields(quoted.String(s) + " x " + quoted.String(s))
		if err != nil || !slices.Equal(got, []string{s, "x", s}) {
			t.Errorf("%q comes back as %q, %v", s, got, err)
		}
	})
}

// FuzzURL checks that the command of a URL is always a single line.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"d:word", "d:a%3Ab:*:2", "m:w:!:.:1", "", "d:%0d%0a", "m:::::", "d:x:\u00e9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := uri.Parse("dict://h/" + path)
		if err != nil {
			return
		}
		q, err := parseURL(u)
		if err != nil {
			return
		}
		line := q.command()
		if strings.ContainsAny(line, "\r\n\x00") || len(line)+2 > maxCommand {
			t.Errorf("%q becomes %q", path, line)
		}
		if q.verb == define {
			again, err := parseURL(uri.MustParse("dict://h" + definitionPath(q.word, q.database, q.n)))
			if err != nil || again != q {
				t.Errorf("%+v comes back as %+v, %v", q, again, err)
			}
		}
	})
}
