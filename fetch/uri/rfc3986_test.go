package uri

import (
	"strings"
	"testing"
)

func TestRFC3986Resolution(t *testing.T) {
	t.Parallel()
	base := MustParse("http://a/b/c/d;p?q")
	for _, c := range []struct{ section, ref, want string }{
		{"5.4.1", "g:h", "g:h"},
		{"5.4.1", "g", "http://a/b/c/g"},
		{"5.4.1", "./g", "http://a/b/c/g"},
		{"5.4.1", "g/", "http://a/b/c/g/"},
		{"5.4.1", "/g", "http://a/g"},
		{"5.4.1", "//g", "http://g"},
		{"5.4.1", "?y", "http://a/b/c/d;p?y"},
		{"5.4.1", "g?y", "http://a/b/c/g?y"},
		{"5.4.1", "#s", "http://a/b/c/d;p?q#s"},
		{"5.4.1", "g#s", "http://a/b/c/g#s"},
		{"5.4.1", "g?y#s", "http://a/b/c/g?y#s"},
		{"5.4.1", ";x", "http://a/b/c/;x"},
		{"5.4.1", "g;x", "http://a/b/c/g;x"},
		{"5.4.1", "g;x?y#s", "http://a/b/c/g;x?y#s"},
		{"5.4.1", "", "http://a/b/c/d;p?q"},
		{"5.4.1", ".", "http://a/b/c/"},
		{"5.4.1", "./", "http://a/b/c/"},
		{"5.4.1", "..", "http://a/b/"},
		{"5.4.1", "../", "http://a/b/"},
		{"5.4.1", "../g", "http://a/b/g"},
		{"5.4.1", "../..", "http://a/"},
		{"5.4.1", "../../", "http://a/"},
		{"5.4.1", "../../g", "http://a/g"},
		{"5.4.2", "../../../g", "http://a/g"},
		{"5.4.2", "../../../../g", "http://a/g"},
		{"5.4.2", "/./g", "http://a/g"},
		{"5.4.2", "/../g", "http://a/g"},
		{"5.4.2", "g.", "http://a/b/c/g."},
		{"5.4.2", ".g", "http://a/b/c/.g"},
		{"5.4.2", "g..", "http://a/b/c/g.."},
		{"5.4.2", "..g", "http://a/b/c/..g"},
		{"5.4.2", "./../g", "http://a/b/g"},
		{"5.4.2", "./g/.", "http://a/b/c/g/"},
		{"5.4.2", "g/./h", "http://a/b/c/g/h"},
		{"5.4.2", "g/../h", "http://a/b/c/h"},
		{"5.4.2", "g;x=1/./y", "http://a/b/c/g;x=1/y"},
		{"5.4.2", "g;x=1/../y", "http://a/b/c/y"},
		{"5.4.2", "g?y/./x", "http://a/b/c/g?y/./x"},
		{"5.4.2", "g?y/../x", "http://a/b/c/g?y/../x"},
		{"5.4.2", "g#s/./x", "http://a/b/c/g#s/./x"},
		{"5.4.2", "g#s/../x", "http://a/b/c/g#s/../x"},
		{"5.4.2, strict", "http:g", "http:g"},
	} {
		got := base.Resolve(MustParse(c.ref))
		if got.String() != c.want {
			t.Errorf("%s: %q: got %s, want %s", c.section, c.ref, got, c.want)
		}
		if got != MustParse(c.want) {
			t.Errorf("%s: %q: the result is not what its text parses to", c.section, c.ref)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, ref, want string }{
		{"http://a", "g", "http://a/g"},
		{"http://a?q", "g", "http://a/g"},
		{"http://a/b?q#f", "", "http://a/b?q"},
		{"http://a/b?q", "?", "http://a/b?"},
		{"http://a/b", "http://c/d/../e", "http://c/e"},
		{"http://a/b", "HTTP://C/D", "HTTP://C/D"},
		{"http://a/b", "//u:p@c:8/./d", "http://u:p@c:8/d"},
		{"ftp://h/%2Fetc/motd;type=a", "passwd", "ftp://h/%2Fetc/passwd"},
		{"ftp://h//etc/motd", "x", "ftp://h//etc/x"},
		{"file:///C|/a/b", "../c", "file:///C|/c"},

		{"x:a", "../b", "x:b"},
		{"x:a", "..", "x:"},

		// A path must not become a host or a scheme.
		{"x:a/b", "..//c", "x:/.//c"},
		{"x:/a", "/.//c", "x:/.//c"},
		{"", "./a:b", "./a:b"},

		// "." and ".." are ordinary names in these schemes.
		{"http://a/b", "gopher://h/1/a/../b", "gopher://h/1/a/../b"},
		{"http://a/b", "data:text/plain,a/../b", "data:text/plain,a/../b"},
		{"http://a/b", "news:a/../b@c", "news:a/../b@c"},

		// If the base is not absolute, the result is relative.
		{"a/b", "c", "a/c"},
	} {
		if got := MustParse(c.base).Resolve(MustParse(c.ref)); got.String() != c.want {
			t.Errorf("%q in %q: got %q, want %q", c.ref, c.base, got, c.want)
		}
	}
	long := MustParse("/" + strings.Repeat("a", MaxLen-2) + "/")
	if got := MustParse("http://h/").Resolve(long); !got.IsZero() {
		t.Errorf("a result of %d bytes is too long", len(got.String()))
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ section, in, want string }{
		{"6.2.2", "eXAMPLE://a/./b/../b/%63/%7bfoo%7d", "example://a/b/c/%7Bfoo%7D"},
		{"6.2.2.1", "HTTP://www.EXAMPLE.com/", "http://www.example.com/"},
		{"6.2.2.2", "http://h/%7Ea%2d%2E%5f%41", "http://h/~a-._A"},
		{"6.2.2.2", "http://u%41:%2f@h/?%41%26#%41", "http://uA:%2F@h/?A%26#A"},
		{"6.2.2.3", "http://h/a/%2e%2E/b", "http://h/b"},
		{"6.2.2.3", "x:/%2e//a", "x:/.//a"},
		{"6.2.3", "http://example.com", "http://example.com/"},
		{"6.2.3", "http://example.com:/", "http://example.com/"},
		{"6.2.3", "http://example.com:80/", "http://example.com/"},
		{"6.2.3", "https://example.com:443", "https://example.com/"},
		{"6.2.3", "http://example.com:443/", "http://example.com:443/"},
		{"6.2.3", "ftp://h:21", "ftp://h/"},
		{"6.2.3", "http://h/?", "http://h/?"},
		{"6.2.3", "x://h", "x://h"},
		{"6.2.3", "x://h:80/", "x://h:80/"},
		{"6.2.3", "dict://h:2628/d:a/../b", "dict://h/d:a/../b"},
		{"6.2.3", "wss://h", "wss://h/"},
		{"RFC 1738 3.2", "ftp://h?x", "ftp://h?x"},
		{"3.2.2", "http://B%C3%BCcher.example/", "http://xn--bcher-kva.example/"},
		{"3.2.2", "http://[2001:DB8:0:0::1]/", "http://[2001:db8::1]/"},
		{"RFC 6874", "http://[fe80::1%25eth%30]/", "http://[fe80::1%25eth0]/"},
		{"3.2.2", "http://0x7f.1/", "http://127.0.0.1/"},
		{"RFC 1738 3.1", "ftp://@h/", "ftp://@h/"},
		{"RFC 1738 3.2.2", "ftp://h//etc/%2Fa%3bb", "ftp://h//etc/%2Fa%3Bb"},
		{"RFC 1738 3.4.1", "gopher://h", "gopher://h/1"},
		{"RFC 1738 3.4.1", "gopher://h:70/", "gopher://h/1"},
		{"RFC 1738 3.4.1", "gopher://h/1/a/../%62", "gopher://h/1/a/../b"},
		{"RFC 1738 3.4.1", "gopher://h/?", "gopher://h/?"},
		{"RFC 1738 3.10", "file://localhost/x", "file:///x"},
		{"RFC 8089 2", "file:/x", "file:///x"},
		{"RFC 1738 3.10", "file://h/x", "file://h/x"},
		{"4.2", "A/%62?%63", "A/b?c"},
		{"4.2", "", ""},
	} {
		got := MustParse(c.in).Normalize()
		if got.String() != c.want {
			t.Errorf("%s: %s: got %s, want %s", c.section, c.in, got, c.want)
		}
		if again := got.Normalize(); again != got {
			t.Errorf("%s: %s: a second time gives %s", c.section, got, again)
		}
	}
}

// The parts of a reference are those of the regular expression in appendix B.
func TestRFC3986Components(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"http://www.ics.uci.edu/pub/ietf/uri/#Related", "http://h?q#f", "http:?", "http:#", "?", "#", "//h", "///", "/a//b",
		"a?b?c#d?e/f", "x:a:b@c", "./a:b", "a/b:c", "//h:/", "//@h", "//u:@h:", "",
	} {
		u, err := Parse(s)
		if err != nil {
			t.Error(err)
			continue
		}
		c := u.split()
		if got := c.scheme + c.authority + c.path + c.query + c.fragment; got != s {
			t.Errorf("%q falls into %+v", s, c)
		}
		rest := s
		if i := strings.Index(s, ":"); i > 0 && u.IsAbs() {
			rest = s[i+1:]
		}
		beforeFragment, frag, hasFrag := strings.Cut(rest, "#")
		beforeQuery, query, hasQuery := strings.Cut(beforeFragment, "?")
		if f, ok := u.Fragment(); f != frag || ok != hasFrag {
			t.Errorf("%q: fragment %q, %v", s, f, ok)
		}
		if q, ok := u.Query(); q != query || ok != hasQuery {
			t.Errorf("%q: query %q, %v", s, q, ok)
		}
		if u.HasAuthority() != strings.HasPrefix(beforeQuery, "//") {
			t.Errorf("%q: authority %v", s, u.HasAuthority())
		}
	}
}
