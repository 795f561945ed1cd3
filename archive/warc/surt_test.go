package warc

import (
	"strings"
	"testing"
)

// The keys of http and https URLs are those of pywb and surt.
func TestSURT(t *testing.T) {
	t.Parallel()
	for u, want := range map[string]string{
		"http://www.Example.org/A?b=C":       "org,example)/a?b=c",
		"https://example.org:443":            "org,example)/",
		"HTTPS://Example.org:80/":            "org,example:80)/",
		"http://example.org:/a":              "org,example)/a",
		"http://example.org:8080/":           "org,example:8080)/",
		"http://user:secret@example.org/a@b": "org,example)/a@b",
		"http://www.example.org?":            "org,example)/",
		"http://example.org?b&a":             "org,example)/?a&b",
		"  http://example.org/a\tb\r\nc ":    "org,example)/abc",

		"http://www12.example.org/":    "org,example)/",
		"http://www2.www.example.org/": "org,example)/",
		"http://www2example.org/":      "org,www2example)/",
		"http://wwww.example.org/":     "org,example,wwww)/",
		"http://.example..org./":       "org,example)/",
		"http://ex%41mple.org/":        "org,example)/",
		"http://b\u00fccher.example/":  "example,xn--bcher-kva)/",
		"http://127.0.0.1:8080/x":      "1,0,0,127:8080)/x",
		"http://[::1]:8080/":           "::1:8080)/",

		"http://example.org/a/":              "org,example)/a",
		"http://example.org/a/?":             "org,example)/a",
		"http://example.org//a//b":           "org,example)/a/b",
		"http://example.org/a/./b/../c/":     "org,example)/a/c",
		"http://example.org/../a":            "org,example)/../a",
		"http://example.org/a%2Fb%2e%2E/":    "org,example)/a/b..",
		"http://example.org/%28a%29%5B1%5D":  "org,example)/(a)[1]",
		"http://example.org/%25%32%35/%2525": "org,example)/%25/%25",
		"http://example.org/%/%2/%zz":        "org,example)/%25/%252/%25zz",
		"http://example.org/a b%20c":         "org,example)/a%20b%20c",
		"http://example.org/\u00e4%C3%A4%e4": "org,example)/%c3%a4%c3%a4%e4",
		"http://example.org/a%23b?c%23d#e?f": "org,example)/a%23b?c%23d",
		"http://example.org/a;B=c":           "org,example)/a;b=c",
		"http://example.org/A+B?C+D":         "org,example)/a+b?c+d",

		"http://example.org/a?b=2&c&b=1":      "org,example)/a?b=1&b=2&c",
		"http://example.org/a?b=1&b&b=":       "org,example)/a?b&b=&b=1",
		"http://example.org/a?ab=1&a=1":       "org,example)/a?a=1&ab=1",
		"http://example.org/a?a=1&":           "org,example)/a?&a=1",
		"http://example.org/a?u=http://X//Y/": "org,example)/a?u=http://x//y/",
		"http://example.org/a?b?c":            "org,example)/a?b?c",

		"http://example.org/a?sid=0123456789abcdef0123456789ABCDEF":                          "org,example)/a",
		"http://example.org/a?sid=0123456789abcdef0123456789ABCDEF0":                         "org,example)/a?sid=0123456789abcdef0123456789abcdef0",
		"http://example.org/a?x=1&JSESSIONID=0123456789abcdef0123456789ABCDEF&b=2":           "org,example)/a?b=2&x=1",
		"http://example.org/a?PHPSESSID=0123456789abcdef0123456789abcdef&action=profile;u=1": "org,example)/a?action=profile;u=1",
		"http://example.org/a?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&b=2":             "org,example)/a?b=2",
		"http://example.org/a?CFID=12&CFTOKEN=34&b=2":                                        "org,example)/a?b=2",
		"http://example.org/(S(0123456789abcdefghijklmn))/a.aspx":                            "org,example)/a.aspx",
		"http://example.org/d/(0123456789abcdefghijklmn)/a.aspx?b":                           "org,example)/d/a.aspx?b",

		"gopher://example.org:70/0/A pear":   "gopher:org,example:70)/0/A%20pear",
		"news:pear@example.org":              "news:pear@example.org",
		"dns:www.example.org":                "dns:www.example.org",
		"mid:a b":                            "mid:a%20b",
		"ftp://example.org/%2Fetc/a;type=i":  "ftp:org,example)/%2Fetc/a;type=i",
		"prospero://example.org//A;a=b;c=d ": "prospero:org,example)//A;a=b;c=d%20",
	} {
		if got := surt(u, ""); got != want {
			t.Errorf("surt(%q) = %q, want %q", u, got, want)
		}
	}
}

// Nested percent-encoding is removed in linear time.
func TestNestedEscapes(t *testing.T) {
	t.Parallel()
	if got := surt("http://h/%"+strings.Repeat("25", 1<<20), ""); got != "h)/%25" {
		t.Errorf("key of %d bytes", len(got))
	}
}

// Index lines are found by their URL, so an index with keys of earlier versions stays valid.
func TestKeysOfEarlierVersions(t *testing.T) {
	t.Parallel()
	var e IndexEntry
	line := `org,example,www)/a/?b&a 20260102030405 {"url":"http://www.example.org/a/?b&a","length":"9","offset":"7","filename":"a.warc.gz"}`
	if !e.Parse([]byte(line)) || e.URL != "http://www.example.org/a/?b&a" || e.Offset != 7 {
		t.Errorf("%+v", e)
	}
}
