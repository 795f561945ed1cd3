package http_test

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// A guard requests a login and records the logins received. The right one is "me" with password
// "pa:ss".
type guard struct {
	challenge []string
	check     func(r *http.Request, answer string) bool
	status    int
	mu        sync.Mutex
	answers   []string
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ask, answer := "WWW-Authenticate", "Authorization"
	if g.status == http.StatusProxyAuthRequired {
		ask, answer = "Proxy-Authenticate", "Proxy-Authorization"
	}
	got := r.Header.Get(answer)
	g.mu.Lock()
	g.answers = append(g.answers, got)
	g.mu.Unlock()
	if !g.check(r, got) {
		for _, ch := range g.challenge {
			w.Header().Add(ask, strings.ReplaceAll(ch, "NONCE", fmt.Sprintf("n, %d", g.asked())))
		}
		w.WriteHeader(g.status)
		io.WriteString(w, "go away")
		return
	}
	io.WriteString(w, "welcome")
}

func (g *guard) asked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.answers)
}

const goodBasic = "Basic bWU6cGE6c3M="

func basicGuard() *guard {
	return &guard{challenge: []string{`Basic realm="the realm"`}, status: 401,
		check: func(_ *http.Request, answer string) bool { return answer == goodBasic }}
}

// digestGuard checks digests by RFC 7616, section 3.4, and each nonce count once.
func digestGuard(algorithm string, newHash func() hash.Hash, qop bool) *guard {
	seen := map[string]bool{}
	h := func(parts ...string) string {
		d := newHash()
		io.WriteString(d, strings.Join(parts, ":"))
		return hex.EncodeToString(d.Sum(nil))
	}
	g := &guard{status: 401}
	ch := fmt.Sprintf(`Digest realm="the realm", nonce="NONCE", opaque="o", algorithm=%s`, algorithm)
	if qop {
		ch += `, qop="auth-int, auth"`
	}
	g.challenge = []string{`Negotiate abc=, Basic realm="worse"`, ch}
	g.check = func(r *http.Request, answer string) bool {
		text, ok := strings.CutPrefix(answer, "Digest ")
		if !ok {
			return false
		}
		p := map[string]string{}
		for text != "" {
			k, rest, _ := strings.Cut(text, "=")
			var v string
			if rest, ok = strings.CutPrefix(rest, `"`); ok {
				v, rest, _ = strings.Cut(rest, `"`)
				text = strings.TrimPrefix(rest, ", ")
			} else {
				v, text, _ = strings.Cut(rest, ", ")
			}
			p[strings.TrimSpace(k)] = v
		}
		a1, a2 := h("me", "the realm", "pa:ss"), h(r.Method, r.RequestURI)
		if strings.HasSuffix(algorithm, "-sess") {
			a1 = h(a1, p["nonce"], p["cnonce"])
			if p["algorithm"] != algorithm {
				return false
			}
		}
		want := h(a1, p["nonce"], a2)
		if qop {
			want = h(a1, p["nonce"], p["nc"], p["cnonce"], "auth", a2)
			if seen[p["nonce"]+p["nc"]] {
				return false
			}
			seen[p["nonce"]+p["nc"]] = true
		}
		return p["response"] == want && p["uri"] == r.RequestURI && p["username"] == "me" && p["opaque"] == "o"
	}
	return g
}

// credentials responds to each challenge with the next password, and records the challenges.
func credentials(got *[]fetch.Challenge, passwords ...string) fetch.Credentials {
	return fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		*got = append(*got, ch)
		if ch.Attempt > len(passwords) {
			return fetch.Credential{}, fetch.ErrAuth
		}
		return fetch.Credential{User: "me", Password: passwords[ch.Attempt-1]}, nil
	})
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	guards := map[string]func() *guard{
		"basic":                basicGuard,
		"digest MD5":           func() *guard { return digestGuard("MD5", md5.New, true) },
		"digest SHA-256":       func() *guard { return digestGuard("SHA-256", sha256.New, true) },
		"digest MD5-sess":      func() *guard { return digestGuard("MD5-sess", md5.New, true) },
		"digest SHA-256-sess":  func() *guard { return digestGuard("SHA-256-sess", sha256.New, true) },
		"digest without a qop": func() *guard { return digestGuard("MD5", md5.New, false) },
	}
	for name, newGuard := range guards {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuard()
			u := serve(t, g.ServeHTTP)
			var asked []fetch.Challenge
			c := newClient(t, &fetch.Options{Credentials: credentials(&asked, "pa:ss")}, urlhttp.Options{})
			for i, path := range []string{"/d/a?b=c|d", "/d/b", "/d/e/f"} {
				drive.Gets(t, c, u+path, "welcome")
				if n := g.asked(); n != i+2 {
					t.Errorf("%s: %d requests so far, want %d, as the login is known after the first", path, n, i+2)
				}
			}
			if _, err := drive.Get(t, c, u+"/elsewhere"); err != nil || g.asked() != 6 {
				t.Errorf("outside the directory: %d requests, %v; want the login only when it is asked for", g.asked(), err)
			}
			if len(asked) != 2 || asked[0].Realm != "the realm" || asked[0].Attempt != 1 || asked[0].Mechanism != strings.Fields(name)[0] {
				t.Errorf("challenges: %+v", asked)
			}
		})
	}
}

func TestLoginInURL(t *testing.T) {
	t.Parallel()
	g := basicGuard()
	u := serve(t, g.ServeHTTP)
	withLogin := func(login string) string { return strings.Replace(u, "//", "//"+login+"@", 1) + "/x" }
	c := newClient(t, nil, urlhttp.Options{})
	drive.Gets(t, c, withLogin("me:pa%3Ass"), "welcome") // right
	_, err := drive.Get(t, c, withLogin("me:wrong"))
	if e := asError(t, err); e.Code != fetch.ErrAuth || e.Reply.Code != 401 || strings.Contains(e.Error(), "wrong") ||
		!errors.Is(err, fetch.ErrAuth) || !strings.Contains(e.Error(), "not accepted") {
		t.Errorf("wrong: %v, want ErrAuth", err)
	}
	for _, answer := range g.answers[2:] {
		if answer == goodBasic {
			t.Error("another's password was sent with a login that the URL names")
		}
	}
	_, err = drive.Get(t, newClient(t, nil, urlhttp.Options{}), u)
	if e := asError(t, err); e.Code != fetch.ErrAuth || e.Hint == "" {
		t.Errorf("none: %v (hint %q), want ErrAuth with a hint", err, e.Hint)
	}
}

func TestSecondAttempt(t *testing.T) {
	t.Parallel()
	var asked []fetch.Challenge
	g := basicGuard()
	c := newClient(t, &fetch.Options{Credentials: credentials(&asked, "no", "pa:ss")}, urlhttp.Options{})
	if body, err := drive.Get(t, c, serve(t, g.ServeHTTP)); err != nil || body != "welcome" || len(asked) != 2 || g.asked() != 3 {
		t.Errorf("%q, %v after %+v", body, err, asked)
	}
	asked = nil
	g = basicGuard()
	samePassword := fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) {
		return fetch.Credential{User: "me", Password: "no"}, nil
	})
	c = newClient(t, &fetch.Options{Credentials: samePassword}, urlhttp.Options{})
	if _, err := drive.Get(t, c, serve(t, g.ServeHTTP)); !errors.Is(err, fetch.ErrAuth) || g.asked() != 2 {
		t.Errorf("%v after %d requests; want a refused password to be sent once", err, g.asked())
	}
}

// TestMaxAttempts checks a server that accepts no login, and one whose nonce is always stale.
func TestMaxAttempts(t *testing.T) {
	t.Parallel()
	for name, challenge := range map[string]string{
		"never satisfied": `Basic realm="the realm"`,
		"always stale":    `Digest realm="the realm", nonce="NONCE", stale=true`,
	} {
		g := &guard{challenge: []string{challenge}, status: 401, check: func(*http.Request, string) bool { return false }}
		n := 0
		c := newClient(t, &fetch.Options{Credentials: fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) {
			n++
			return fetch.Credential{User: "me", Password: fmt.Sprint(n)}, nil
		})}, urlhttp.Options{})
		if _, err := drive.Get(t, c, serve(t, g.ServeHTTP)); !errors.Is(err, fetch.ErrAuth) || g.asked() != 5 {
			t.Errorf("%s: %v after %d requests", name, err, g.asked())
		}
	}
}

// TestRevokedLogin checks that credentials are requested again when a cached login is
// refused.
func TestRevokedLogin(t *testing.T) {
	t.Parallel()
	var asked []fetch.Challenge
	g := basicGuard()
	c := newClient(t, &fetch.Options{Credentials: credentials(&asked, "pa:ss", "new")}, urlhttp.Options{})
	u := serve(t, g.ServeHTTP)
	drive.MustGet(t, c, u)
	g.check = func(_ *http.Request, answer string) bool { return answer == "Basic bWU6bmV3" }
	for range 2 {
		drive.Gets(t, c, u, "welcome")
	}
	if n := g.asked(); n != 5 {
		t.Errorf("%d requests, want 5", n)
	}
}

func TestNonceExpires(t *testing.T) {
	t.Parallel()
	t.Run("and the server says so", func(t *testing.T) { testNonceExpires(t, ", stale=true", 1) })
	t.Run("and the server does not say so", func(t *testing.T) { testNonceExpires(t, "", 2) })
}

// testNonceExpires expects a number of calls of the provider in two requests.
func testNonceExpires(t *testing.T, stale string, want int) {
	g := digestGuard("MD5", md5.New, true)
	inner := g.check
	nonce := 1
	g.check = func(r *http.Request, answer string) bool {
		if !inner(r, answer) {
			return false
		}
		return strings.Contains(answer, fmt.Sprintf(`nonce="n%d"`, nonce))
	}
	next := func() {
		nonce++
		g.challenge = []string{fmt.Sprintf(`Digest realm="the realm", nonce="n%d", opaque="o", qop=auth%s`, nonce, stale)}
	}
	next()
	var asked []fetch.Challenge
	c := newClient(t, &fetch.Options{Credentials: credentials(&asked, "pa:ss")}, urlhttp.Options{})
	u := serve(t, g.ServeHTTP)
	for range 2 {
		drive.Gets(t, c, u, "welcome")
		next()
	}
	if len(asked) != want {
		t.Errorf("asked for a password %d times, want %d, as an old nonce does not make it wrong", len(asked), want)
	}
	g.check = func(*http.Request, string) bool { return false }
	drive.Fails(t, c, u, fetch.ErrAuth) // never right
}

func TestUnknownSchemeOfAuthentication(t *testing.T) {
	t.Parallel()
	g := &guard{challenge: []string{`Bearer realm="x"`, `Digest realm="r", nonce="n", algorithm=MD5-sess-but-not-really`}, status: 401,
		check: func(*http.Request, string) bool { return false }}
	if _, err := drive.Get(t, newClient(t, nil, urlhttp.Options{}), strings.Replace(serve(t, g.ServeHTTP), "//", "//me:secret@", 1)); !errors.Is(err, fetch.ErrAuth) || g.asked() != 1 {
		t.Errorf("%v after %d requests", err, g.asked())
	}
}

// TestOwnAuthorization checks that the caller's field is not changed.
func TestOwnAuthorization(t *testing.T) {
	t.Parallel()
	g := basicGuard()
	_, _, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), &fetch.Request{URL: uri.MustParse(serve(t, g.ServeHTTP)),
		Header: map[string][]string{"Authorization": {"Bearer x"}}})
	if !errors.Is(err, fetch.ErrAuth) || g.asked() != 1 || g.answers[0] != "Bearer x" {
		t.Errorf("%v, answers %q", err, g.answers)
	}
}

// proxyClient returns a client that uses a proxy.
func proxyClient(t testing.TB, proxy string, o *fetch.Options, more ...fetch.Loader) *fetch.Client {
	t.Helper()
	p := uri.MustParse(proxy)
	o.Proxy = func(uri.URI) (uri.URI, error) { return p, nil }
	c := drive.Client(t, o, append(more, urlhttp.Load)...)
	return c
}

func TestRelay(t *testing.T) {
	t.Parallel()
	var got *http.Request
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		io.WriteString(w, "relayed")
	})
	ftp := func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "ftp", Port: 21, Ops: []fetch.Op{fetch.OpGet}, ForwardProxy: true,
			Driver: fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
				t.Error("the ftp driver was asked")
				return nil, errors.ErrUnsupported
			})})
	}
	for _, proto := range []string{"", "http/1.1", "h2"} {
		srv := newServer(t, h, proto)
		c := proxyClient(t, strings.Replace(srv.URL, "//", "//pu:ppw@", 1), &fetch.Options{TLS: trust(srv)}, ftp)
		tests := []struct{ url, target, host string }{
			{"http://h.example/a?b#c", "http://h.example/a?b", "h.example"},
			{"http://u:pw@h.example:8080/a", "http://h.example:8080/a", "h.example:8080"},
			{"http://[2001:db8::1]/a|b", "http://[2001:db8::1]/a|b", "[2001:db8::1]"},
			{"ftp://u:pw@f.example/d/x;type=i", "ftp://u:pw@f.example/d/x;type=i", "f.example"},
		}
		for _, tt := range tests {
			body, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(tt.url)})
			if err != nil || body != "relayed" || resp.URL.String() != tt.url {
				t.Errorf("%q %s: %q, %v", proto, tt.url, body, err)
				continue
			}
			if got.RequestURI != tt.target || got.Host != tt.host {
				t.Errorf("%q %s: the proxy got %s for %s", proto, tt.url, got.RequestURI, got.Host)
			}
			if got.Header.Get("Proxy-Authorization") != "Basic cHU6cHB3" || got.Header.Get("Authorization") != "" {
				t.Errorf("%q %s: the proxy got %v", proto, tt.url, got.Header)
			}
		}
	}
}

func TestProxyAuthentication(t *testing.T) {
	t.Parallel()
	digest := digestGuard("MD5", md5.New, true)
	digest.status = http.StatusProxyAuthRequired
	basic := basicGuard()
	basic.status = http.StatusProxyAuthRequired
	for name, g := range map[string]*guard{"digest": digest, "basic": basic} {
		proxy := serve(t, g.ServeHTTP)
		c := proxyClient(t, strings.Replace(proxy, "//", "//me:pa%3Ass@", 1), &fetch.Options{})
		for _, from := range []uri.URI{{}, uri.MustParse("http://elsewhere.example/")} { // a foreign request too
			req := &fetch.Request{URL: uri.MustParse("http://h.example/x"), From: from}
			if body, _, err := drive.Do(t, c, req); err != nil || body != "welcome" {
				t.Errorf("%s, from %q: %q, %v", name, from, body, err)
			}
		}
		if want := map[string]int{"digest": 3, "basic": 2}[name]; g.asked() != want {
			t.Errorf("%s: %d requests, want %d", name, g.asked(), want)
		}
		_, err := drive.Get(t, proxyClient(t, strings.Replace(proxy, "//", "//me:secret@", 1), &fetch.Options{}), "http://h.example/x")
		if e := asError(t, err); e.Code != fetch.ErrAuth || e.Reply.Code != 407 || strings.Contains(e.Error(), "secret") {
			t.Errorf("%s, wrong password: %v", name, err)
		}
		_, err = drive.Get(t, proxyClient(t, proxy, &fetch.Options{}), "http://h.example/x")
		if e := asError(t, err); e.Code != fetch.ErrAuth || !strings.Contains(e.Hint, "proxy") {
			t.Errorf("%s, no password: %v (hint %q)", name, err, e.Hint)
		}
	}
}

// TestProxyAndServerLogin checks a proxy and a server that both request a login.
func TestProxyAndServerLogin(t *testing.T) {
	t.Parallel()
	server, proxy := basicGuard(), digestGuard("MD5", md5.New, true)
	proxy.status = http.StatusProxyAuthRequired
	c := proxyClient(t, strings.Replace(serve(t, func(w http.ResponseWriter, r *http.Request) {
		if proxy.check(r, r.Header.Get("Proxy-Authorization")) {
			server.ServeHTTP(w, r)
			return
		}
		w.Header()["Proxy-Authenticate"] = proxy.challenge
		w.WriteHeader(http.StatusProxyAuthRequired)
	}), "//", "//me:pa%3Ass@", 1), &fetch.Options{})
	drive.Gets(t, c, "http://me:pa%3Ass@h.example/x", "welcome")
}
