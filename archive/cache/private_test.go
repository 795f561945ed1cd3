package cache

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
				w.Header().Set("Cache-Control", "max-age=60")
				w.Header().Set("Date", time.Now().Add(-30*time.Second).UTC().Format(http.TimeFormat))
				if tt.tags {
					w.Header().Set("Etag", `"`+version+`"`)
				} else {
					w.Header().Set("Last-Modified", at(day).Format(http.TimeFormat))
				}
				conditional := r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since") != ""
				if conditional && !checked.Swap(true) { // the request of the test
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
			now := received.Add(45 * time.Second)
			runWith(t, file, Options{Now: func() time.Time { return now }}, &fetch.Options{}, func(c *fetch.Client) {
				if got, err := read(t, c, &fetch.Request{URL: uri.MustParse(s.URL)}); got != tt.want || err != nil {
					t.Errorf("%q, %v, want %q", got, err, tt.want)
				}
			})
		})
	}
}
