package http_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// Anonymous requests, such as that for a robots.txt, use the connections of other requests, but neither
// their login nor their cookies.
func TestAnonymousRequestsShareConnections(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		tls, http2 bool
	}{{"HTTP/1.1", false, false}, {"HTTP/1.1 over TLS", true, false}, {"HTTP/2", true, true}} {
		var mu sync.Mutex
		var got, conns []string
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, _, _ := r.BasicAuth()
			_, err := r.Cookie("c")
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%s user %q, cookie %t", r.URL.Path, user, err == nil))
			conns = append(conns, r.RemoteAddr)
			if r.URL.Path == "/private" && user == "" {
				w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			http.SetCookie(w, &http.Cookie{Name: "c", Value: "1"})
		}))
		srv.EnableHTTP2 = tt.http2
		if tt.tls {
			srv.StartTLS()
		} else {
			srv.Start()
		}
		t.Cleanup(srv.Close)
		base := uri.MustParse(strings.Replace(srv.URL, "://", "://ann:secret@", 1) + "/")
		c := drive.Client(t, &fetch.Options{TLS: trust(srv)}, urlhttp.Load)
		for _, path := range []string{"robots.txt", "private", "robots.txt", "private"} {
			resp, err := c.Do(t.Context(), &fetch.Request{URL: base.Resolve(uri.MustParse(path)), Anonymous: path == "robots.txt"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		want := []string{`/robots.txt user "", cookie false`, `/private user "", cookie false`, `/private user "ann", cookie false`,
			`/robots.txt user "", cookie false`, `/private user "ann", cookie true`}
		if !slices.Equal(got, want) {
			t.Errorf("%s: requests %q, want %q", tt.name, got, want)
		}
		if slices.Sort(conns); len(slices.Compact(conns)) != 1 {
			t.Errorf("%s: the requests used the connections %q, want one", tt.name, conns)
		}
	}
}
