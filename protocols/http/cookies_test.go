package http_test

import (
	"net/http"
	"net/http/cookiejar"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/cookies"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestCookiesAreSentBackAsReceived checks the Cookie field after a response with a Set-Cookie field.
func TestCookiesAreSentBackAsReceived(t *testing.T) {
	t.Parallel()
	set, got := "", "" // requests are sequential
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/set" {
			w.Header().Add("Set-Cookie", set)
			return
		}
		got = r.Header.Get("Cookie")
	})
	jars := map[string]func() http.CookieJar{
		"default":   func() http.CookieJar { return nil },
		"cookies":   func() http.CookieJar { return cookies.New() },
		"cookiejar": func() http.CookieJar { j, _ := cookiejar.New(nil); return j },
	}
	for _, tt := range []struct{ set, want string }{
		{`p={"a":1}`, `p={"a":1}`},
		{`p=café`, `p=café`},
		{"p=caf\xe9", "p=caf\xe9"},
		{`p=x"y`, `p=x"y`},
		{`p="q"`, `p="q"`},
		{`p="`, `p="`},
		{`p=""`, `p=""`},
		{`p=a, b`, `p=a, b`},
		{`p=a b\c`, `p=a b\c`},
		{`p="a, b"`, `p="a, b"`},
		{`p[0]=x; Path=/`, `p[0]=x`},
		{`p=1; Expires=Thu Jan  1 00:00:00 1970`, ``},
		{`p=1; Path =/book`, ``},
		{`p=1; Domain="127.0.0.1"`, ``},
	} {
		for name, jar := range jars {
			c := newClient(t, nil, urlhttp.Options{Jar: jar()})
			set, got = tt.set, ""
			drive.MustGet(t, c, u+"/set")
			drive.MustGet(t, c, u+"/get")
			if got != tt.want {
				t.Errorf("%s: after Set-Cookie: %s the request has Cookie: %q, want %q", name, tt.set, got, tt.want)
			}
		}
	}
	// Cookies follow those that the caller of the client sets.
	c := newClient(t, nil, urlhttp.Options{})
	set = "p=1"
	drive.MustGet(t, c, u+"/set")
	req := &fetch.Request{URL: uri.MustParse(u + "/get"), Header: map[string][]string{"Cookie": {"own=2"}}}
	if _, _, err := drive.Do(t, c, req); err != nil || got != "own=2; p=1" {
		t.Errorf("with a Cookie field of the request: %q, %v", got, err)
	}
}
