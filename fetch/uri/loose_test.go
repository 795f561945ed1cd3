package uri

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParseLoose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"nothing to do", "http://h/a?b#c", "http://h/a?b#c"},
		{"empty", " \n", ""},
		{"relative", " ../a b ", "../a%20b"},

		{"wrapper", "<URL:ftp://h/x>", "ftp://h/x"},
		{"wrapper in lower case", "<url:ftp://h/x>", "ftp://h/x"},
		{"wrapper without the prefix", "<http://h/x>", "http://h/x"},
		{"prefix without a wrapper", "URL:ftp://h/x", "ftp://h/x"},
		{"blanks around", " \t\r\n<URL: ftp://h/x >\n", "ftp://h/x"},
		{"line break in the brackets", "<URL:ftp://h/a\n   /b>", "ftp://h/a/b"},
		{"blanks in the brackets", "<http://h /a b\tc>", "http://h/abc"},
		{"hyphen before a line break", "<URL:http://h/a-\r\n  b>", "http://h/a-b"},
		{"line break without brackets", "http://h/a \n b", "http://h/ab"},
		{"several line breaks", "http://h/a\n\n\nb\nc", "http://h/abc"},
		{"tab without brackets", "http://h/a\tb", "http://h/ab"},
		{"space without brackets", "http://h/a  b", "http://h/a%20%20b"},

		{"unsafe", "http://h/<a>{b}^`\"\\", "http://h/%3Ca%3E%7Bb%7D%5E%60%22%5C"},
		{"kept as written", "file:///C|/x?a[]=~", "file:///C|/x?a[]=~"},
		{"UTF-8", "http://h/ü?ü#ü", "http://h/%C3%BC?%C3%BC#%C3%BC"},
		{"Latin-1", "http://h/\xfc", "http://h/%FC"},
		{"control", "http://h/\x01\x7f", "http://h/%01%7F"},
		{"percent", "http://h/100%?%zz%41%4", "http://h/100%25?%25zz%41%254"},
		{"example of RFC 1630", "http://info.cern.ch/RDB/EMP?*%20where%20name%%3Ddobbins",
			"http://info.cern.ch/RDB/EMP?*%20where%20name%25%3Ddobbins"},
		{"second hash", "http://h/#a#b", "http://h/#a%23b"},
		{"at in the user name", "ftp://joe@example.org:p@h/", "ftp://joe%40example.org:p@h/"},
		{"unsafe in the password", "ftp://u:p[w ü%@h/", "ftp://u:p%5Bw%20%C3%BC%25@h/"},
		{"zone", "http://[fe80::1%eth0]/", "http://[fe80::1%25eth0]/"},
		{"international host with a space in the path", "http://bücher.example/a b", "http://bücher.example/a%20b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, parse := range map[string]func(string) (URI, error){"ParseLoose": ParseLoose, "ParseRef": ParseRef} {
				u, err := parse(c.in)
				if err != nil {
					t.Fatal(err)
				}
				if u.String() != c.want {
					t.Errorf("%s of %q: got %q, want %q", name, c.in, u, c.want)
				}
				if again, err := Parse(u.String()); err != nil || again != u {
					t.Errorf("%q parses to %q, %v", u, again, err)
				}
			}
		})
	}
}

// ParseLoose corrects typing mistakes. Ref is the result of ParseRef, which is for documents.
func TestParseLooseCorrectsMistakes(t *testing.T) {
	t.Parallel()
	const bad = "error"
	for _, c := range []struct{ name, in, want, ref string }{
		{"one slash", "http:/h.example/x", "http://h.example/x", "http:/h.example/x"},
		{"three slashes", "HTTPS:///h/x", "HTTPS://h/x", "HTTPS:///h/x"},
		{"no colon", "http//h/x", "http://h/x", "http//h/x"},
		{"other schemes with a host", "gopher:/h/1x", "gopher://h/1x", "gopher:/h/1x"},
		{"login", "ftp:/u:p@h/x", "ftp://u:p@h/x", "ftp:/u:p@h/x"},
		{"no host to mend", "http:/", "http:/", "http:/"},
		{"no host but a query", "http:/?x", "http:/?x", "http:/?x"},
		{"file may be without a host", "file:/etc", "file:/etc", "file:/etc"},
		{"unknown scheme", "x:/h/x", "x:/h/x", "x:/h/x"},

		{"address and port", "127.0.0.1:8080/x", "http://127.0.0.1:8080/x", bad},
		{"address and port only", "127.0.0.1:8080", "http://127.0.0.1:8080", bad},
		{"IPv6 address and port", "[::1]:8080/a b", "http://[::1]:8080/a%20b", bad},
		{"name and port", "h.example:8080/x?y#z", "http://h.example:8080/x?y#z", "h.example:8080/x?y#z"},
		{"international name and port", "bücher.example:81/", "http://bücher.example:81/", bad},
		{"port of https", "h.example:443/x", "https://h.example:443/x", "h.example:443/x"},
		{"one label", "localhost:8080/x", "localhost:8080/x", "localhost:8080/x"},
		{"scheme with a dot", "z39.50r:80/x", "z39.50r:80/x", "z39.50r:80/x"},
		{"no number", "h.example:x", "h.example:x", "h.example:x"},
		{"no port", "h.example/x", "h.example/x", "h.example/x"},
		{"no real port", "h.example:0/x", "h.example:0/x", "h.example:0/x"},
		{"user", "u@h.example:8080", bad, bad},

		{"quotes", "“http://h/x”", "http://h/x", bad},
		{"German quotes", "„http://h/x“", "http://h/x", bad},
		{"French quotes", "«\u00a0http://h/x\u00a0»", "http://h/x", bad},
		{"straight quotes", `"http://h/x"`, "http://h/x", bad},
		{"single quotes", "'http://h/x'", "http://h/x", bad},
		{"parentheses", "(http://h/x)", "http://h/x", bad},
		{"brackets", "[ http://h/x ]", "http://h/x", bad},
		{"several", "(“<URL:http://h/a\n b>”)", "http://h/ab", bad},
		{"quotes around a mistake", "“http//h/x”", "http://h/x", "%E2%80%9Chttp//h/x%E2%80%9D"},
		{"quotes around a host and port", "'127.0.0.1:80'", "http://127.0.0.1:80", bad},
		{"quotes around a word", "'x'", "'x'", "'x'"},
		{"parentheses that belong there", "http://h/(x)", "http://h/(x)", "http://h/(x)"},
		{"an open one", "(http://h/x", bad, bad},
		{"unlike ones", "(http://h/x”", bad, bad},
		{"one alone", "(", "(", "("},
		{"unseen characters", "\ufeffhttp://h/x\u200b\u00a0", "http://h/x", bad},
	} {
		for name, p := range map[string]struct {
			parse func(string) (URI, error)
			want  string
		}{"ParseLoose": {ParseLoose, c.want}, "ParseRef": {ParseRef, c.ref}} {
			got := bad
			if u, err := p.parse(c.in); err == nil {
				got = u.String()
			}
			if got != p.want {
				t.Errorf("%s: %s of %q: got %q, want %q", c.name, name, c.in, got, p.want)
			}
		}
	}
}

func TestParseLooseRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"http://a b/", "http://h:x/", "http://h:99999/", "http://[::1/", "1a:b",
		`http://good.example\@evil.example/`, `http://good.example\.evil.example/`, "ftp://u%0d%0a@h/",
		strings.Repeat("a", MaxLen+1),
	} {
		u, err := ParseLoose(s)
		var e *Error
		if !errors.As(err, &e) || !u.IsZero() {
			t.Errorf("%.40q: got %.40q and error %v, want an *Error", s, u, err)
		} else if len(e.Input) > maxErrorInput+3 {
			t.Errorf("%.40q: the error repeats %d bytes", s, len(e.Input))
		}
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()
	const bad = "error"
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"none", "no URL in < a > b", nil},
		{"one", "see <URL:http://h/x>.", []string{"http://h/x"}},
		{"any case", "<url:http://h/x>", []string{"http://h/x"}},
		{"fragment", "<URL:http://h/x#y>", []string{"http://h/x#y"}},
		{"only with the prefix", "<http://h/x> <URL:http://h/y>", []string{"http://h/y"}},
		{"in markup", "<p><URL:http://h/x></p>", []string{"http://h/x"}},
		{"not closed", "<URL:http://h/x", nil},
		{"not closed before the next", "<URL:http://h/x and <URL:http://h/y>", []string{"http://h/y"}},
		{"malformed", "<URL:http://h:x/> <URL:http://h/y>", []string{bad, "http://h/y"}},
		{"relative", "<URL:x> <URL:http://h/y>", []string{bad, "http://h/y"}},
		{"empty", "<URL:>", []string{bad}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for u, err := range Extract(c.in) {
				if e := (*Error)(nil); errors.As(err, &e) {
					got = append(got, bad)
					continue
				}
				got = append(got, u.String())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for range Extract("<URL:http://h/x> <URL:http://h/y>") {
		break // must not panic
	}
}
