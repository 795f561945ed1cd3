package uri

import (
	"errors"
	"strings"
	"testing"
)

func TestJoinPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		elem []string
		want string
	}{
		{"http://h", []string{"a"}, "http://h/a"},
		{"http://h/", []string{"a"}, "http://h/a"},
		{"http://h/a", []string{"b", "c"}, "http://h/a/b/c"},
		{"http://h/a/", []string{"b/c"}, "http://h/a/b/c"},
		{"http://h/a", []string{"b", "c/"}, "http://h/a/b/c/"},
		{"http://h/a", []string{"/b//./c"}, "http://h/a/b/c"},
		{"http://h/a", nil, "http://h/a"},
		{"http://h/a/", []string{"", "."}, "http://h/a/"},
		{"http://h/a", []string{"/"}, "http://h/a/"},
		{"http://h/a?q#f", []string{"b"}, "http://h/a/b"},
		{"http://h/a/..", []string{"b"}, "http://h/a/../b"},
		{"http://h/a", []string{"b c?d#e%41;f=g", "...", "ü"}, "http://h/a/b%20c%3Fd%23e%2541%3Bf%3Dg/.../%C3%BC"},
		{"http://u:p@H:80/", []string{"a"}, "http://u:p@H:80/a"},
		{"x://h", []string{"a"}, "x://h/a"},
		{"", []string{"a:b"}, "a%3Ab"},
		{"a", []string{"b"}, "a/b"},
		{"/", []string{"b"}, "/b"},
		{"//h", []string{"b"}, "//h/b"},

		{"ftp://h/pub;type=d", []string{"a*b", "c;type=i"}, "ftp://h/pub/a%2Ab/c%3Btype%3Di"},
		{"ftp://h", []string{"/etc/motd"}, "ftp://h/etc/motd"},
		{"ftp://h/%2Fetc", []string{"motd"}, "ftp://h/%2Fetc/motd"},
		{"ftp://h/;type=a/b?c", []string{"d"}, "ftp://h/;type=a/b?c/d"},
		{"ftp://h//", []string{"a"}, "ftp://h//a"},

		{"gopher://h", []string{"a"}, "gopher://h/1/a"},
		{"gopher://h/", []string{"a"}, "gopher://h/1/a"},
		{"gopher://h/1/a?b", []string{"c d"}, "gopher://h/1/a?b/c%20d"},
		{"gopher://h/7/a%09x%09+", []string{"b"}, "gopher://h/7/a/b"},
		{"gophers://h/1a/", []string{"b"}, "gophers://h/1a/b"},

		{"file:///a?b", []string{"c?d@e"}, "file:///a?b/c%3Fd@e"},
		{"file:/a", []string{"b"}, "file:/a/b"},
		{"prospero://h/a;OBJECT-VERSION=3", []string{"b;c"}, "prospero://h/a/b%3Bc"},
		{"prospero://h/a%0012", []string{"b"}, "prospero://h/a/b"},
	} {
		got, err := MustParse(c.in).JoinPath(c.elem...)
		if err != nil || got.String() != c.want {
			t.Errorf("%s with %q: got %s, %v, want %s", c.in, c.elem, got, err, c.want)
		}
	}
}

func TestJoinPathRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, elem string }{
		{"http://h/a", ".."},
		{"http://h/a", "b/../c"},
		{"gopher://h/1", ".."},
		{"ftp://h/", "a\r\nDELE b"},
		{"ftp://h/", "a\x00"},
		{"news:a.b", "c"},
		{"wais://h/db", "c"},
		{"mailto:a@b", "c"},
		{"telnet://h/", "c"},
		{"data:,a", "c"},
		{"x:a", "c"},
		{"x:", "c"},
		{"http://h/", strings.Repeat("a", MaxLen)},
	} {
		var e *Error
		if got, err := MustParse(c.in).JoinPath(c.elem); !errors.As(err, &e) || !got.IsZero() {
			t.Errorf("%s with %.20q: got %.20s, %v", c.in, c.elem, got, err)
		}
	}
	if _, err := MustParse("http://h/").JoinPath("a\nb"); !errors.Is(err, ErrControl) {
		t.Errorf("%v is not ErrControl", err)
	}
}
