package cache

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
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
