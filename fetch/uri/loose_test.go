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
			u, err := ParseLoose(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if u.String() != c.want {
				t.Errorf("%q: got %q, want %q", c.in, u, c.want)
			}
			if again, err := Parse(u.String()); err != nil || again != u {
				t.Errorf("%q parses to %q, %v", u, again, err)
			}
		})
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
			t.Errorf("%.40q: the error repeats %d octets", s, len(e.Input))
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
