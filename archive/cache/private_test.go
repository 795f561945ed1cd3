package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/icholy/digest"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

// A transfer that was cut off is not a response of the cache, whoever cut it off.
func TestIncompleteResponsesAreNotUsed(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		w.Header().Set("Etag", `"v"`)
		w.Header().Set("Content-Length", "10")
		if requests.Add(1)%2 == 1 {
			w.Write([]byte("012"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		if r.Header.Get("If-None-Match") != "" {
			t.Error("the incomplete response was validated")
		}
		w.Write([]byte("0123456789"))
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "cache.warc.gz")
	run(t, file, Options{}, func(get func(string, ...string) (string, error)) {
		if got, err := get(s.URL + "/a"); err == nil {
			t.Errorf("the server broke off, but the client has %q", got)
		}
	})
	missing := 0
	run(t, file, Options{Offline: true, Missing: func(uri.URI) { missing++ }}, func(get func(string, ...string) (string, error)) {
		got, err := get(s.URL + "/a")
		if fetch.CodeOf(err) != fetch.ErrNotFound || !strings.Contains(err.Error(), "incomplete") || missing != 1 {
			t.Errorf("offline: %q, %v, %d missing", got, err, missing)
		}
	})
	run(t, file, Options{}, func(get func(string, ...string) (string, error)) {
		for range 2 { // from the server, then from the cache
			if got, err := get(s.URL + "/a"); got != "0123456789" || err != nil {
				t.Errorf("after an incomplete response: %q, %v", got, err)
			}
		}
		if n := requests.Load(); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// A response 304 confirms the stored response whose validator the request had, and no other.
func TestForeignConfirmationsAreIgnored(t *testing.T) {
	t.Parallel()
	at := func(day int) time.Time { return time.Date(2020, 1, day, 0, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		name  string
		tags  bool // the server has entity tags, otherwise dates
		asked fetch.Validator
		want  string // after the lifetime of the stored response
	}{
		{"another entity tag", true, fetch.Validator{ETag: `"B"`}, "B"},
		{"the same entity tag", true, fetch.Validator{ETag: `"A"`}, "A"},
		{"the same entity tag, weak", true, fetch.Validator{ETag: `W/"A"`}, "A"},
		{"a later date", false, fetch.Validator{ModTime: at(2)}, "B"},
		{"the same date", false, fetch.Validator{ModTime: at(1)}, "A"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var second, checked atomic.Bool
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				version, day := "A", 1
				if second.Load() {
					version, day = "B", 2
				}
				w.Header().Set("Cache-Control", "max-age=3600")
				w.Header().Set("Date", time.Now().Add(-30*time.Minute).UTC().Format(http.TimeFormat))
				if tt.tags {
					w.Header().Set("Etag", `"`+version+`"`)
				} else {
					w.Header().Set("Last-Modified", at(day).Format(http.TimeFormat))
				}
				conditional := r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since") != ""
				if conditional && !checked.Swap(true) { // the request of the test
					w.Header().Del("Date")
					w.WriteHeader(http.StatusNotModified)
					return
				}
				fmt.Fprint(w, version)
			}))
			t.Cleanup(s.Close)
			file := filepath.Join(t.TempDir(), "cache.warc.gz")
			received := time.Now()
			runWith(t, file, Options{}, &fetch.Options{}, func(c *fetch.Client) {
				if got, err := read(t, c, &fetch.Request{URL: uri.MustParse(s.URL)}); got != "A" || err != nil {
					t.Fatal(got, err)
				}
				second.Store(true)
				_, err := read(t, c, &fetch.Request{URL: uri.MustParse(s.URL), IfChanged: tt.asked})
				if !errors.Is(err, fetch.ErrNotModified) {
					t.Fatal(err)
				}
			})
			// The stored response is stale, unless it was confirmed.
			now := received.Add(45 * time.Minute)
			runWith(t, file, Options{Now: func() time.Time { return now }}, &fetch.Options{}, func(c *fetch.Client) {
				if got, err := read(t, c, &fetch.Request{URL: uri.MustParse(s.URL)}); got != tt.want || err != nil {
					t.Errorf("%q, %v, want %q", got, err, tt.want)
				}
			})
		})
	}
}

// A testLogin is the login of a client, for its own requests.
type testLogin struct{ user, password string }

func (l testLogin) Credential(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	if l.user == "" || ch.Foreign || ch.Attempt > 1 {
		return fetch.Credential{}, fetch.ErrAuth
	}
	return fetch.Credential{User: l.user, Password: l.password}, nil
}

// A user is a client of a cache.
type user struct {
	login  testLogin
	header textproto.MIMEHeader
	inURL  string
	want   string // in the response; "" if the server refuses a user without a login
}

// A response is used, and validated, only for the login that it was sent to and for the same values of
// the fields that its Vary names. The next run of the same user uses it.
func TestUsersOfACacheAreKeptApart(t *testing.T) {
	t.Parallel()
	const day = "Thu, 01 Jan 2020 00:00:00 GMT"
	login := func(name, password, want string) user { return user{login: testLogin{name, password}, want: want} }
	field := func(name, value, want string) user {
		return user{header: textproto.MIMEHeader{name: {value}}, want: want}
	}
	for _, tt := range []struct {
		name   string
		header string // of the responses
		auth   string // the scheme that the server demands; "" for none
		users  []user
		cached bool // the next run asks the server for nothing but a login
	}{
		{"Vary, a date", "Vary: Accept-Language\nLast-Modified: " + day, "", []user{field("Accept-Language", "de", "de"), field("Accept-Language", "en", "en"), {}}, false},
		{"Vary of cookies, a date", "Vary: Accept-Encoding, cookie\nLast-Modified: " + day, "", []user{field("Cookie", "sid=ALICE", "sid=ALICE"), field("Cookie", "sid=BOB", "sid=BOB"), {}}, false},
		{"Vary, fresh", "Vary: Accept-Language\nCache-Control: max-age=600", "", []user{field("Accept-Language", "de", "de"), field("Accept-Language", "en", "en"), {}}, true},
		{"Vary of all, a date", "Vary: *\nLast-Modified: " + day, "", []user{field("X-A", "1", ""), field("X-A", "2", "")}, false},
		{"tokens", "Cache-Control: max-age=600", "", []user{field("Authorization", "Bearer ALICE", "Bearer ALICE"), field("Authorization", "Bearer BOB", "Bearer BOB"), {}}, true},
		{"a token, a date", "Last-Modified: " + day, "", []user{field("Authorization", "Bearer ALICE", "Bearer ALICE"), field("Authorization", "Bearer BOB", "Bearer BOB"), {}}, false},
		{"cookies of the user", "Cache-Control: max-age=600", "", []user{field("Cookie", "sid=ALICE", "sid=ALICE"), field("Cookie", "sid=BOB", "sid=BOB"), {}}, true},
		{"keys", "Cache-Control: max-age=600", "", []user{field("X-Api-Key", "ALICE", "ALICE"), field("X-Api-Key", "BOB", "BOB"), {}}, true},
		{"Basic", "Cache-Control: max-age=600", "Basic", []user{login("alice", "a", "alice"), login("bob", "b", "bob"), login("", "", ""), login("alice", "wrong", "")}, true},
		{"Basic, a date", "Last-Modified: " + day, "Basic", []user{login("alice", "a", "alice"), login("bob", "b", "bob"), login("", "", "")}, false},
		{"Basic in the URL", "Cache-Control: max-age=600", "Basic", []user{{inURL: "alice:a@", want: "alice"}, {inURL: "alice:wrong@"}, {inURL: "bob:b@", want: "bob"}, {}}, true},
		{"Digest", "Cache-Control: max-age=600", "Digest", []user{login("alice", "a", "alice"), login("bob", "b", "bob"), login("", "", "")}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var served atomic.Int32 // responses with content
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				name := ""
				if tt.auth != "" {
					var ok bool
					if name, ok = loggedIn(r); !ok {
						w.Header().Set("WWW-Authenticate", tt.auth+` realm="x", nonce="n", algorithm=MD5`)
						http.Error(w, "log in", http.StatusUnauthorized)
						return
					}
				} else {
					name = r.Header.Get("Accept-Language") + r.Header.Get("Authorization") + r.Header.Get("Cookie") + r.Header.Get("X-Api-Key")
				}
				for line := range strings.Lines(tt.header) {
					name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
					w.Header().Set(name, value)
				}
				if r.Header.Get("If-Modified-Since") != "" {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				served.Add(1)
				fmt.Fprint(w, "for "+name)
			}))
			t.Cleanup(s.Close)
			file := filepath.Join(t.TempDir(), "cache.warc.gz")
			for pass := range 2 {
				for _, u := range tt.users {
					runWith(t, file, Options{}, &fetch.Options{Credentials: u.login}, func(c *fetch.Client) {
						for range 2 {
							got, err := read(t, c, &fetch.Request{URL: uri.MustParse(strings.Replace(s.URL, "//", "//"+u.inURL, 1)), Header: u.header})
							if refused := tt.auth != "" && u.want == ""; refused && fetch.CodeOf(err) != fetch.ErrAuth || !refused && (got != "for "+u.want || err != nil) {
								t.Errorf("pass %d: %v: %q, %v", pass, u, got, err)
							}
						}
					})
				}
				n := len(tt.users)
				if tt.auth != "" {
					n = 2
				}
				if got := int(served.Swap(0)); tt.cached && got != n*(1-pass) {
					t.Errorf("pass %d: %d responses with content", pass, got)
				}
			}
		})
	}
}

// loggedIn returns the user of a request with Basic or Digest.
func loggedIn(r *http.Request) (string, bool) {
	if user, password, ok := r.BasicAuth(); ok {
		return user, password == user[:1]
	}
	c, err := digest.ParseCredentials(r.Header.Get("Authorization"))
	if err != nil {
		return "", false
	}
	right, err := digest.Digest(&digest.Challenge{Realm: "x", Nonce: "n", Algorithm: "MD5"}, digest.Options{Method: r.Method, URI: c.URI, Username: c.Username, Password: c.Username[:1]})
	return c.Username, err == nil && right.Response == c.Response
}

// The files of a cache have no secrets of requests, and a stored Set-Cookie sets no cookie: it did when
// the response was received, and the cookie may have been deleted since.
func TestSecretsOfACache(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		if r.URL.Path == "/login" {
			w.Header().Set("Set-Cookie", "sid=1; Path=/")
		}
		fmt.Fprintf(w, "%d cookies", len(r.Cookies()))
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "cache.warc")
	for pass := range 2 {
		run(t, file, Options{}, func(get func(string, ...string) (string, error)) {
			for path, fields := range map[string][]string{"/a": {"Authorization", "Bearer hush"}, "/b": {"Cookie", "x=hush"}, "/login": nil} {
				if _, err := get(s.URL+path, fields...); err != nil {
					t.Error(err)
				}
			}
			want := fmt.Sprintf("%d cookies", 1-pass)
			if got, err := get(s.URL + fmt.Sprint("/", pass)); got != want || err != nil {
				t.Errorf("pass %d: %q, %v, want %q", pass, got, err, want)
			}
		})
	}
	text, err := os.ReadFile(file)
	if err != nil || bytes.Contains(text, []byte("hush")) || !bytes.Contains(text, []byte("Urlget-Cache-Key: ")) {
		t.Errorf("%v\n%s", err, text)
	}
}

// The archives of earlier versions have no keys. They are not used, and can still be replayed.
func TestResponsesWithoutKeysAreNotUsed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(t.TempDir(), "cache.warc.gz")
	w, err := warc.Create(file, warc.WriterOptions{Index: true, Format: capture.Format})
	if err != nil {
		t.Fatal(err)
	}
	c := fetch.New(&fetch.Options{Recorder: capture.New(w, nil, nil)}, httpdriver.Load)
	if got, err := read(t, c, &fetch.Request{URL: uri.MustParse(s.URL + "/fresh")}); got != "one" || err != nil {
		t.Fatal(got, err)
	}
	c.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, file, Options{Offline: true}, func(get func(string, ...string) (string, error)) {
		if got, err := get(s.URL + "/fresh"); fetch.CodeOf(err) != fetch.ErrNotFound || !strings.Contains(err.Error(), "earlier version") {
			t.Errorf("offline: %q, %v", got, err)
		}
	})
	s.body = "two"
	run(t, file, Options{}, func(get func(string, ...string) (string, error)) {
		if got, err := get(s.URL + "/fresh"); got != "two" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// A request that is not the user's own is answered from the cache only if the server could have answered
// it: not with what a login got, and not from a private address if it comes from a public one.
func TestForeignRequestsGetWhatServersWouldGive(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		switch _, loggedIn := loggedIn(r); {
		case r.URL.Path == "/login" && !loggedIn:
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			http.Error(w, "log in", http.StatusUnauthorized)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "http://"+strings.Replace(r.Host, "intra", "other", 1)+"/image", http.StatusMovedPermanently)
		case r.URL.Path == "/session":
			w.Header().Set("Set-Cookie", "sid=1; Path=/me")
			fallthrough
		case r.URL.Path == "/image":
			w.Header().Set("Cache-Control", "no-store")
			fallthrough
		default: // also /me, which has cookies of the session
			fmt.Fprint(w, "secret")
		}
	}))
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	loopback := netip.MustParseAddr("127.0.0.1")
	at := func(host, path string) uri.URI { return uri.MustParse("http://" + host + ":" + port + path) }
	from := func(host string) uri.URI { return uri.MustParse("http://" + host + "/") }
	for _, tt := range []struct {
		name   string
		first  []string // paths at intra.test that the user retrieves before the request
		public bool     // these responses came from a public address
		policy fetch.Policy
		req    fetch.Request
		want   fetch.Code // "" for the content
	}{
		{"the user", nil, false, fetch.Policy{}, fetch.Request{URL: at("intra.test", "/page")}, ""},
		{"a page elsewhere", nil, false, fetch.Policy{}, fetch.Request{URL: at("intra.test", "/page"), From: from("public.test")}, fetch.ErrPolicy},
		{"a page elsewhere, allowed", nil, false, fetch.Policy{AllowPrivate: true}, fetch.Request{URL: at("intra.test", "/page"), From: from("public.test")}, ""},
		{"a page elsewhere, of a public server", nil, true, fetch.Policy{}, fetch.Request{URL: at("intra.test", "/page"), From: from("public.test")}, ""},
		{"an untrusted party", nil, false, fetch.Policy{Untrusted: true}, fetch.Request{URL: at("intra.test", "/page")}, fetch.ErrPolicy},
		{"an untrusted party, allowed", nil, false, fetch.Policy{Untrusted: true, AllowPrivate: true}, fetch.Request{URL: at("intra.test", "/page")}, ""},
		{"the user, with a login", nil, false, fetch.Policy{}, fetch.Request{URL: at("intra.test", "/login")}, ""},
		{"a page elsewhere, a login", nil, false, fetch.Policy{AllowPrivate: true}, fetch.Request{URL: at("intra.test", "/login"), From: from("public.test")}, fetch.ErrAuth},
		{"an untrusted party, a login", nil, false, fetch.Policy{Untrusted: true, AllowPrivate: true}, fetch.Request{URL: at("intra.test", "/login")}, fetch.ErrAuth},
		{"the user, without the session", nil, false, fetch.Policy{}, fetch.Request{URL: at("intra.test", "/me")}, ""},
		{"a page elsewhere, a session", nil, false, fetch.Policy{AllowPrivate: true}, fetch.Request{URL: at("intra.test", "/me"), From: from("public.test")}, fetch.ErrNotFound},
		{"a page of the same server", []string{"/page"}, false, fetch.Policy{}, fetch.Request{URL: at("intra.test", "/image"), From: at("intra.test", "/page")}, ""},
		{"a page of a private server", []string{"/page"}, false, fetch.Policy{}, fetch.Request{URL: at("other.test", "/image"), From: at("intra.test", "/page")}, ""},
		{"a page of a public server", []string{"/page"}, true, fetch.Policy{}, fetch.Request{URL: at("other.test", "/image"), From: at("intra.test", "/page")}, fetch.ErrPolicy},
		{"a redirect of a private server", nil, false, fetch.Policy{}, fetch.Request{URL: at("intra.test", "/moved")}, ""},
		{"a redirect of a public server", nil, true, fetch.Policy{}, fetch.Request{URL: at("intra.test", "/moved")}, fetch.ErrPolicy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			options := func(p fetch.Policy) *fetch.Options {
				return &fetch.Options{Policy: &p, Credentials: testLogin{"alice", "a"},
					Network: fetch.Network{Hosts: map[string]netip.Addr{"intra.test:" + port: loopback, "other.test:" + port: loopback}}}
			}
			file := filepath.Join(t.TempDir(), "cache.warc")
			runWith(t, file, Options{}, options(fetch.Policy{AllowPrivate: true}), func(c *fetch.Client) {
				for _, path := range []string{"/session", "/me", "/page", "/moved", "/login"} {
					if got, err := read(t, c, &fetch.Request{URL: at("intra.test", path)}); got != "secret" || err != nil {
						t.Fatal(path, got, err)
					}
				}
			})
			if tt.public {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				text = bytes.ReplaceAll(text, []byte("WARC-IP-Address: 127.0.0.1"), []byte("WARC-IP-Address: 198.0.9.1"))
				if err := os.WriteFile(file, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, offline := range []bool{false, true} {
				if path := tt.req.URL.Path(); offline && (path == "/image" || path == "/moved") || !offline && path == "/me" {
					continue // it is not in the cache, or the server is asked
				}
				runWith(t, file, Options{Offline: offline}, options(tt.policy), func(c *fetch.Client) {
					for _, path := range tt.first {
						if got, err := read(t, c, &fetch.Request{URL: at("intra.test", path)}); got != "secret" || err != nil {
							t.Fatal(path, got, err)
						}
					}
					got, err := read(t, c, &tt.req)
					want := tt.want
					if offline && want == fetch.ErrPolicy {
						want = fetch.ErrNotFound // in the cache
					}
					if want == "" && (got != "secret" || err != nil) || want != "" && fetch.CodeOf(err) != want {
						t.Errorf("offline %t: %q, %v, want %q", offline, got, err, want)
					}
				})
			}
		})
	}
}

// A request that the policy refused, or that reached no server, leaves nothing that hides a response.
func TestFailuresHideNoResponse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(t.TempDir(), "cache.warc.gz")
	own := &fetch.Request{URL: uri.MustParse(strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/fresh")}
	foreign := *own
	foreign.From = uri.MustParse("http://public.test/")
	runWith(t, file, Options{}, &fetch.Options{}, func(c *fetch.Client) {
		if got, err := read(t, c, own); got != "one" || err != nil {
			t.Fatal(got, err)
		}
		if got, err := read(t, c, &foreign); fetch.CodeOf(err) != fetch.ErrPolicy {
			t.Fatal(got, err)
		}
	})
	s.Close()
	refresh := *own
	refresh.Header = textproto.MIMEHeader{"Cache-Control": {"no-cache"}}
	runWith(t, file, Options{}, &fetch.Options{}, func(c *fetch.Client) {
		if got, err := read(t, c, &refresh); fetch.CodeOf(err) != fetch.ErrNetwork {
			t.Fatal(got, err)
		}
	})
	for _, offline := range []bool{false, true} {
		runWith(t, file, Options{Offline: offline}, &fetch.Options{}, func(c *fetch.Client) {
			if got, err := read(t, c, own); got != "one" || err != nil {
				t.Errorf("offline %t: %q, %v", offline, got, err)
			}
		})
	}
}
