package uri_test

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

// Keys and sites must not change, because saved crawls, mirrors and queues contain them.
func TestKeyAndSite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"http://u:p@H:80/%7ea?b#c": {"http://h/~a?b", "http://h"},
		"https://h/x":              {"http://h/x", "http://h"},
		"HTTPS://h:443/x/../y":     {"http://h/y", "http://h"},
		"https://h:80/x":           {"http://h:80/x", "http://h:80"},
		"http://h/a%2fb?":          {"http://h/a%2Fb?", "http://h"},
		"http://h":                 {"http://h/", "http://h"},
		"ftps://u@h/d/x;type=a":    {"ftp://h/d/x;type=a", "ftp://h"},
		"ftp://h:990/x":            {"ftp://h:990/x", "ftp://h:990"},
		"gophers://h/1/x":          {"gopher://h/1/x", "gopher://h"},
		"gopher://h":               {"gopher://h/1", "gopher://h"},
		"nntps://h/g/1":            {"nntp://h/g/1", "nntp://h"},
		"snews:a@h":                {"news:a@h", "news:"},
		"news:a@h":                 {"news:a@h", "news:"},
		"imaps://u@h/INBOX":        {"imaps://h/INBOX", "imaps://h"},
		"pops://h/":                {"pops://h/", "pops://h"},
		"ldaps://h/":               {"ldaps://h/", "ldaps://h"},
		"wss://h/":                 {"wss://h/", "wss://h"},
		"gemini://h/a/":            {"gemini://h/a/", "gemini://h"},
		"nex://h":                  {"nex://h/", "nex://h"},
		"file:///a":                {"file:///a", "file://"},
		"data:,x":                  {"data:,x", "data:"},
		"x-new://h/a?b":            {"x-new://h/a?b", "x-new://h"},
	} {
		u := uri.MustParse(text)
		if got := [2]string{u.Key(), u.Site()}; got != want {
			t.Errorf("%s: key and site %q, want %q", text, got, want)
		}
	}
	for _, differ := range [][2]string{{"http://h/a", "http://h/a/"}, {"http://h/a%2Fb", "http://h/a/b"}, {"http://h/A", "http://h/a"}, {"http://h/a", "http://h/a?"}, {"http://h:8080/", "http://h/"}} {
		if a, b := uri.MustParse(differ[0]).Key(), uri.MustParse(differ[1]).Key(); a == b {
			t.Errorf("%s and %s are both %s", differ[0], differ[1], a)
		}
	}
}

func TestSameSite(t *testing.T) {
	t.Parallel()
	urls := []string{"http://h/a", "http://u:p@H/b", "http://h:80/a", "http://h:81/a", "https://h/a", "https://h:443/", "http://h", "http://h?q",
		"http://i/a", "ftp://h/a", "gopher://h/1/x", "gophers://h/1/x", "news:a@h", "news://h/g", "file:///a", "data:,x", "mailto:a@h"}
	for _, a := range urls {
		for _, b := range urls {
			a, b := uri.MustParse(a), uri.MustParse(b)
			if got, want := a.SameSite(b), a.Site() == b.Site(); got != want {
				t.Errorf("%s and %s: %t, want %t", a, b, got, want)
			}
		}
	}
}

func TestPlainScheme(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://h/": "http", "ftps://h/": "ftp", "gophers://h/": "gopher", "nntps://h/g": "nntp", "snews:g": "news",
		"http://h/": "http", "HTTP://h/": "http", "imaps://h/": "imaps", "wss://h/": "wss", "sftp://h/": "sftp", "x-news:": "x-news",
	} {
		u := uri.MustParse(text)
		if got := u.PlainScheme(); got != want || u.IsSecure() != (want != u.Scheme()) {
			t.Errorf("%s: %s, secure %t; want %s", text, got, u.IsSecure(), want)
		}
	}
}

func TestTreePath(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://h/a/../%7eb?c":   "/~b",
		"gopher://h/1/docs":      "/docs",
		"gopher://h/0docs/a?b":   "/docs/a?b",
		"gophers://h":            "/",
		"gopher://u@h/1/docs":    "1/docs", // refused by ParseGopher
		"ftp://h/%2Fetc/x":       "/%2Fetc/x",
		"prospero://h/a/b":       "/a/b",
		"gopher://h/7/find%09xy": "/find",
	} {
		if got := uri.MustParse(text).TreePath(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestTreeDir(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://h":              "/",
		"http://h/a/b?c/d":      "/a/",
		"ftp://h/a/b/":          "/a/b/",
		"gopher://h":            "/",
		"gopher://h/1/docs":     "/docs/",
		"gophers://h/1docs/":    "/docs/",
		"gopher://h/0/docs/a":   "/docs/",
		"gopher://h/7/docs/%09": "/docs/",
	} {
		if got := uri.MustParse(text).TreeDir(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestWithoutPassword(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ftp://u:p@h/x": "ftp://u@h/x", "ftp://u:@h/x": "ftp://u@h/x", "ftp://:p@h/x": "ftp://h/x", "ftp://u@h/x": "ftp://u@h/x",
		"ftp://h:2121/x": "ftp://h:2121/x", "ftp://a%40b:p@h/x": "ftp://a%40b@h/x", "news:a@h": "news:a@h",
	} {
		if got := uri.MustParse(text).WithoutPassword().String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestCanonicalURLsAreNormalizedWithoutAllocations(t *testing.T) {
	for _, text := range []string{"http://h.example/a/b?c#d", "http://127.0.0.1:8080/", "ftp://h/x%2Fy;type=a",
		"gopher://h/1/menu", "news:a@b"} {
		u := uri.MustParse(text)
		if got := u.Normalize(); got != u {
			t.Errorf("%s became %s", u, got)
		}
		if n := testing.AllocsPerRun(10, func() { u.Normalize() }); n > float64(strings.Count(text, "%")) {
			t.Errorf("%s: %v allocations", u, n)
		}
	}
	for text, want := range map[string]string{"http://h:080/": "http://h/", "http://h:08080/": "http://h:8080/",
		"http://h:/": "http://h/", "http://H/": "http://h/", "http://[::0:1]:8080/": "http://[::1]:8080/",
		"http://%68/": "http://h/", "http://u@h:81/": "http://u@h:81/"} {
		if got := uri.MustParse(text).Normalize().String(); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}
