package http

import (
	"fmt"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/httpauth"
)

func FuzzParseChallenges(f *testing.F) {
	for _, s := range []string{`Basic realm="a\"b", Digest nonce=x,qop="auth"`, "Negotiate YII=, X", `a "b" c=`, "a=b", `B r="`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range httpauth.Challenges([]string{s}) {
			if c.Scheme == "" || c.Scheme != strings.ToLower(c.Scheme) || strings.ContainsAny(c.Scheme, " ,=\"") {
				t.Errorf("%q: scheme %q", s, c.Scheme)
			}
			httpauth.NewDigest(c)
		}
	})
}

func TestSuggestedName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                    "",
		"attachment":                          "",
		`attachment; filename="a b.txt"`:      "a b.txt",
		"attachment; filename=a.txt":          "a.txt",
		"inline; FileName=a.txt":              "a.txt",
		`attachment; filename="../../etc/x"`:  "x",
		`attachment; filename="C:\\a\\b.txt"`: "b.txt",
		`attachment; filename=".profile"`:     "_.profile",
		`attachment; filename=".."`:           "",
		`attachment; filename="NUL"`:          "_NUL",
		"attachment; filename=\"\xe9.txt\"":   "é.txt",
		"attachment; filename=\"é.txt\"":      "é.txt",
		// RFC 6266, section 5, and RFC 8187.
		`attachment; filename="EURO rates"; filename*=utf-8''%e2%82%ac%20rates`: "€ rates",
		`attachment; filename*=UTF-8''..%2F..%2Fx`:                              "x",
		`attachment; filename*=UTF-8''a%00%0D%0Ab`:                              "ab",
		`attachment; filename=one; filename=two`:                                "one",
		// As in browsers.
		"attachment; filename=My Report.pdf":                "My Report.pdf",
		"attachment; filename=report(1)[a]{b}.pdf ; size=3": "report(1)[a]{b}.pdf",
		"attachment; filename=größe.txt":                    "größe.txt",
		"attachment; filename=gr\xf6\xdfe.txt":              "größe.txt",
		"attachment; filename=a@b,c=d:e.txt":                "a@b,c=d_e.txt",
		"attachment; filename=d/e.txt":                      "e.txt",
		`attachment; filename="a.txt",`:                     "a.txt",
		`attachment; ; filename="a;b.txt"; ;`:               "a;b.txt",
		`attachment; filename="open`:                        "_open",
		"attachment; filename*=ISO-8859-1''gr%F6%DFe.txt":   "größe.txt",
		"attachment; filename=x; filename*=koi8-r''%80":     "x",
		"attachment; filename=x; filename*=utf-8''%zz":      "x",
		`;;;`: "",
	} {
		if got := suggestedName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzSuggestedName(f *testing.F) {
	f.Add(`attachment; filename="a"; filename*=utf-8''b%20c`)
	f.Add("attachment; filename=\"\xff/../x\"")
	f.Fuzz(func(t *testing.T, s string) {
		got := suggestedName(s)
		if fetch.SafeName(got) != got || strings.HasPrefix(got, ".") {
			t.Errorf("%q: %q", s, got)
		}
	})
}

func FuzzParseContentRange(f *testing.F) {
	for _, s := range []string{"bytes 0-4/5", "bytes 0-4/*", "bytes */5", "bytes 5-4/9", "bytes 0-9223372036854775807/*", "bytes -1-2/3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseContentRange(s)
		if err != nil {
			return
		}
		if r.first < 0 || r.last < r.first || r.last-r.first+1 <= 0 || r.total != 0 && r.total <= r.last {
			t.Errorf("%q: %+v", s, r)
		}
		total := "*"
		if r.total != 0 {
			total = fmt.Sprint(r.total)
		}
		again, err := parseContentRange(fmt.Sprintf("bytes %d-%d/%s", r.first, r.last, total))
		if err != nil || again != r {
			t.Errorf("%q: %+v, and printed %+v, %v", s, r, again, err)
		}
	})
}

// TestMasker checks that the secrets of a head are masked at any division into pieces.
func TestMasker(t *testing.T) {
	t.Parallel()
	const (
		head = "GET ftp://u:pass@h/token HTTP/1.1\r\nHost: h\r\nauthorization: Basic abc=\r\nX-Authorization: y\r\n" +
			"PRIVATE-TOKEN: t\r\nX-Api-Key:k\r\nX-Tag: k\r\nCookie: a=b; c\r\nProxy-Authorization:tight\r\n\r\nCookie: of the body\r\n"
		want = "GET ftp://u:****@h/token HTTP/1.1\r\nHost: h\r\nauthorization: ***** ****\r\nX-Authorization: *\r\n" +
			"PRIVATE-TOKEN: *\r\nX-Api-Key:*\r\nX-Tag: k\r\nCookie: **** *\r\nProxy-Authorization:*****\r\n\r\nCookie: of the body\r\n"
	)
	from, to := password("ftp://u:pass@h/token")
	for i := range len(head) {
		for j := i; j < len(head); j++ {
			m := &masker{from: len("GET ") + from, to: len("GET ") + to}
			got := string(m.mask([]byte(head[:i]))) + string(m.mask([]byte(head[i:j]))) + string(m.mask([]byte(head[j:])))
			if got != want {
				t.Fatalf("divided at %d and %d: %q", i, j, got)
			}
		}
	}
}

func TestMaskerLeavesTheRequestLine(t *testing.T) {
	t.Parallel()
	const head = "GET http://h/token:a?key:b HTTP/1.1\r\nHost: h\r\n\r\n"
	if got := string(new(masker).mask([]byte(head))); got != head {
		t.Errorf("%q", got)
	}
}

func TestPasswordOfAURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ftp://joe:secret@h/x": "secret", "ftp://joe:a:b@h:21": "a:b", "ftp://:p@h/": "p", "ftp://joe:@h/": "",
		"ftp://h:21/a:b@c": "", "ftp://joe@h:21/": "", "gopher://h/1a:b@c": "", "ftp://h?x:y@z": "",
	} {
		if from, to := password(text); text[from:to] != want {
			t.Errorf("%s: %q", text, text[from:to])
		}
	}
}
