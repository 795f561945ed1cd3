package http_test

import (
	"crypto/md5"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// sent returns the number of logins that the guard received.
func (g *guard) sent() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range g.answers {
		if a != "" {
			n++
		}
	}
	return n
}

// TestWrongPasswordIsSentOnce checks that a list of URLs does not make a failed login each, also if they
// are retrieved at once.
func TestWrongPasswordIsSentOnce(t *testing.T) {
	t.Parallel()
	proxyGuard := func() *guard {
		g := basicGuard()
		g.status = http.StatusProxyAuthRequired
		return g
	}
	digest := func() *guard { return digestGuard("MD5", md5.New, true) }
	tests := []struct {
		name  string
		guard func() *guard
		opts  urlhttp.Options
		proxy bool
		want  int
	}{
		{"Basic", basicGuard, urlhttp.Options{}, false, 1},
		{"Digest", digest, urlhttp.Options{}, false, 1},
		{"Basic before a challenge", basicGuard, urlhttp.Options{Unasked: true}, false, 1},
		{"Basic, then Digest", digest, urlhttp.Options{Unasked: true}, false, 2},
		{"at a proxy", proxyGuard, urlhttp.Options{}, true, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := tt.guard()
			base := serve(t, g.ServeHTTP)
			url, o := strings.Replace(base, "//", "//me:wrong@", 1), &fetch.Options{}
			c := newClient(t, o, tt.opts)
			if tt.proxy {
				c, url = proxyClient(t, url, o), "http://h.example"
			}
			var group sync.WaitGroup
			for i := range 8 {
				group.Go(func() {
					if _, err := drive.Get(t, c, fmt.Sprintf("%s/%d", url, i)); !errors.Is(err, fetch.ErrAuth) {
						t.Errorf("%v, want ErrAuth", err)
					}
				})
			}
			group.Wait()
			_, err := drive.Get(t, c, url+"/more")
			const want = "the user name or password was already refused"
			if !errors.Is(err, fetch.ErrAuth) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			if n := g.sent(); n != tt.want {
				t.Errorf("%d logins were sent, want %d", n, tt.want)
			}
			if !tt.proxy {
				drive.Gets(t, c, strings.Replace(base, "//", "//me:pa%3Ass@", 1)+"/0", "welcome")
				c = newClient(t, o, tt.opts) // of another user
				drive.Fails(t, c, url+"/0", fetch.ErrAuth)
				if n := g.sent(); n < 2*tt.want {
					t.Errorf("%d logins in all: another client did not ask the server", n)
				}
			}
		})
	}
}

// TestForbiddenResourceOfARealm checks that a login which was accepted is not taken for a wrong one if
// the server refuses one resource with 401.
func TestForbiddenResourceOfARealm(t *testing.T) {
	t.Parallel()
	g := basicGuard()
	inner := g.check
	g.check = func(r *http.Request, answer string) bool { return r.URL.Path[1] != 'x' && inner(r, answer) }
	c := newClient(t, nil, urlhttp.Options{})
	url := strings.Replace(serve(t, g.ServeHTTP), "//", "//me:pa%3Ass@", 1)
	for range 2 {
		drive.Gets(t, c, url+"/a", "welcome")
		drive.Fails(t, c, url+"/x", fetch.ErrAuth)
	}
}
