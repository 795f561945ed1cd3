package http_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/file"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// redirectTo serves a redirect.
func redirectTo(t testing.TB, location string) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
	})
}

func TestRedirect(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &status); err == nil {
			w.Header().Set("Location", "../end?a=b c|d")
			w.WriteHeader(status)
			return
		}
		io.WriteString(w, r.Method+" "+r.RequestURI)
	})
	c := newClient(t, nil, urlhttp.Options{})
	for _, status := range []string{"300", "301", "302", "303", "307", "308"} {
		body, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(u + "/" + status + "#top")})
		if err != nil {
			t.Errorf("%s: %v", status, err)
			continue
		}
		if body != "GET "+u+"/end?a=b%20c|d" && body != "GET /end?a=b%20c|d" && body != "GET /end?a=b%20c%7Cd" ||
			!strings.HasSuffix(resp.URL.String(), "#top") || len(resp.Via) != 1 || resp.Via[0].String() != u+"/"+status+"#top" {
			t.Errorf("%s: %q at %s via %v", status, body, resp.URL, resp.Via)
		}
	}
}

// mustNotOpen registers a scheme that redirects must not reach.
func mustNotOpen(t testing.TB, scheme string, port uint16, ops ...fetch.Op) fetch.Loader {
	return func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: scheme, Port: port, Ops: ops,
			Driver: fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
				t.Errorf("%s was opened", scheme)
				return nil, errors.ErrUnsupported
			})})
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	t.Parallel()
	for location, code := range map[string]fetch.Code{
		"file:///etc/passwd":   fetch.ErrPolicy,
		"FILE:/etc/passwd":     fetch.ErrPolicy,
		"telnet://127.0.0.1/":  fetch.ErrPolicy,
		"mailto:a@b.example":   fetch.ErrPolicy,
		"http://127.0.0.1:25/": fetch.ErrPolicy,
		"http://127.0.0.1:22/": fetch.ErrPolicy,
		"//127.0.0.1:6667/x":   fetch.ErrPolicy,
		"unheard-of://x/":      fetch.ErrScheme,
		"javascript:alert(1)":  fetch.ErrScheme,
		"http://a b/":          fetch.ErrRedirect,
		"http://h:99999/":      fetch.ErrRedirect,
		"":                     fetch.ErrRedirect,
	} {
		c := drive.Client(t, nil, urlhttp.Load, file.Load, mustNotOpen(t, "telnet", 23, fetch.OpDial), mustNotOpen(t, "mailto", 0))
		_, err := drive.Get(t, c, redirectTo(t, location))
		if e := asError(t, err); e.Code != code || e.Reply.Code != 302 {
			t.Errorf("to %q: %v (reply %v), want class %q", location, err, e.Reply, code)
		}
	}
}

func TestRedirectLoop(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
	})
	if _, err := drive.Get(t, newClient(t, &fetch.Options{MaxRedirects: 5}, urlhttp.Options{}), u+"/loop"); !errors.Is(err, fetch.ErrRedirect) || n.Load() != 6 {
		t.Errorf("%v after %d requests, want ErrRedirect after 6", err, n.Load())
	}
}

// TestRedirectSecrets checks the fields that another origin receives.
func TestRedirectSecrets(t *testing.T) {
	t.Parallel()
	var got http.Header
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { got = r.Header })
	other = strings.Replace(other, "127.0.0.1", "localhost", 1)
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "secret"})
		if user, _, ok := r.BasicAuth(); r.URL.Path == "/login" && (!ok || user != "me") {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, other, http.StatusFound)
	})
	c := newClient(t, nil, urlhttp.Options{})
	requests := []*fetch.Request{
		{URL: uri.MustParse(u + "/"), Header: map[string][]string{"Authorization": {"Bearer secret"}, "Cookie": {"a=secret"}, "X-Kept": {"1"}}},
		{URL: uri.MustParse(strings.Replace(u, "//", "//me:secret@", 1) + "/login")},
	}
	for i, req := range requests {
		got = nil
		if _, _, err := drive.Do(t, c, req); err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(got); strings.Contains(text, "secret") || strings.Contains(text, "Authorization") || got.Get("Referer") != "" {
			t.Errorf("the other origin got %v", got)
		}
		if i == 0 && got.Get("X-Kept") != "1" {
			t.Error("the caller's other fields are lost")
		}
	}
}
