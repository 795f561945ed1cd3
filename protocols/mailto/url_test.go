package mailto

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		section string
		in      string
		want    *proposal // nil if it must be refused
	}{
		{"RFC 1630", "mailto:a%25b@host", &proposal{to: []string{"a%b@host"}}},
		{"RFC 1738 3.5", "mailto:joe@example.com", &proposal{to: []string{"joe@example.com"}}},
		{"RFC 1738 3.5", "mailto:a%25b.bitnet@gw.example", &proposal{to: []string{"a%b.bitnet@gw.example"}}},
		{"RFC 1738 3.5 nothing reserved", "mailto:/a;b=c:d@h", &proposal{to: []string{"/a;b=c:d@h"}}},
		{"RFC 1738 3.5", "mailto:", nil},
		{"RFC 1738 3.5", "mailto:a%0D%0ABcc:%20b@h", nil},
		{"RFC 6068 2", "mailto:a@b,c%2Cd@e", &proposal{to: []string{"a@b", "c,d@e"}}},
		{"RFC 6068 2", "mailto:?to=a@b&to=c@d,e@f", &proposal{to: []string{"a@b", "c@d", "e@f"}}},
		{"RFC 6068 2", "mailto:a@b?subject=x%20y+z&cc=c@d",
			&proposal{to: []string{"a@b"}, header: []field{{"subject", "x y+z"}, {"cc", "c@d"}}}},
		{"RFC 6068 5", "mailto:a@b?body=one%0D%0A%0D%0Atwo&Subject=s",
			&proposal{to: []string{"a@b"}, header: []field{{"Subject", "s"}}, body: []string{"one", "", "two"}}},
		{"RFC 6068 2", "mailto:?subject=x", &proposal{header: []field{{"subject", "x"}}}},
		{"RFC 6068 2", "mailto:a@b?body=", &proposal{to: []string{"a@b"}, body: []string{""}}},
		{"RFC 6068 2", "mailto:a@b?", &proposal{to: []string{"a@b"}}},
		{"RFC 6068 2", "mailto:?to=", nil},
		{"RFC 6068 2", "mailto:a@b?subject", nil},
		{"RFC 6068 2", "mailto:a@b?=x", nil},
		{"RFC 6068 2", "mailto:a@b?x%20y=z", nil},
		{"RFC 6068 2", "mailto://h/a@b", nil},
		{"RFC 6068 7", "mailto:a%1B%5B2J@b", nil},
		{"RFC 6068 7", "mailto:a@b?subject=x%7F", nil},
		{"RFC 6068 7", "mailto:a@b?body=x%09y", &proposal{to: []string{"a@b"}, body: []string{"x\ty"}}},
		{"another scheme", "x-other:a@b", nil},
	} {
		got, err := parse(uri.MustParse(c.in))
		if e := (*uri.Error)(nil); c.want == nil && !errors.As(err, &e) {
			t.Errorf("%s %s: got %+v and error %v, want a *uri.Error", c.section, c.in, got, err)
		}
		if c.want != nil && (err != nil || !reflect.DeepEqual(got, c.want)) {
			t.Errorf("%s %s: got %+v, %v, want %+v", c.section, c.in, got, err, c.want)
		}
	}
}

func TestControlCharacters(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"mailto:a%0D@b", "mailto:a@b?subject=c%0D%0Ad", "mailto:a@b?body=c%0Dd"} {
		if p, err := parse(uri.MustParse(s)); !errors.Is(err, uri.ErrControl) {
			t.Errorf("%s: got %+v, %v", s, p, err)
		}
	}
}

// FuzzParse checks that a URL yields no line break or NUL.
func FuzzParse(f *testing.F) {
	f.Add("mailto:a@b,c%2Cd@e?subject=x&body=one%0D%0Atwo&to=f@g")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := uri.ParseLoose(s)
		if err != nil {
			return
		}
		p, err := parse(u)
		if err != nil {
			return
		}
		all := append(p.to, p.body...)
		for _, f := range p.header {
			all = append(all, f.name, f.value)
		}
		for _, text := range all {
			if strings.ContainsAny(text, "\r\n\x00") {
				t.Errorf("%q: decoded to %q", s, text)
			}
		}
	})
}
