package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestListsGrowAndBackOff retrieves a list without flags from servers that accept only a few requests
// at once.
func TestListsGrowAndBackOff(t *testing.T) {
	t.Parallel()
	const limit, files = 10, 120
	for name, refuse := range map[string]func(w http.ResponseWriter){
		"none": nil,
		"503":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"429":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) },
		"closed": func(w http.ResponseWriter) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				conn.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var running, most atomic.Int64
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := running.Add(1)
				defer running.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if refuse != nil && n > limit {
					refuse(w)
					return
				}
				<-time.After(20 * time.Millisecond) // the distance of the server
				io.WriteString(w, r.URL.Path)
			}))
			t.Cleanup(site.Close)
			var list strings.Builder
			for i := range files {
				fmt.Fprintf(&list, "%s/%d\n", site.URL, i)
			}
			cmd := urlget("-q", "-i", "-")
			cmd.Dir = t.TempDir()
			cmd.Stdin = strings.NewReader(list.String())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			saved, err := os.ReadDir(cmd.Dir)
			if err != nil || len(saved) != files {
				t.Errorf("%d files, %v", len(saved), err)
			}
			if n := most.Load(); n <= limit || n > 60 {
				t.Errorf("%d requests at once", n)
			}
		})
	}
}

// A tree without flags sends more requests at once than it starts with, but no more than six to a host.
func TestTreesGrow(t *testing.T) {
	t.Parallel()
	const files = 40
	var running, most atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-time.After(20 * time.Millisecond) // the distance of the server
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			for i := range files {
				fmt.Fprintf(w, "<a href=/%d.txt>%d</a>\n", i, i)
			}
		}
	}))
	t.Cleanup(site.Close)
	for _, c := range []struct {
		flags       []string
		least, most int64
	}{{nil, 5, 6}, {[]string{"-j", "3"}, 2, 3}, {[]string{"--per-host", "2"}, 2, 2}} {
		most.Store(0)
		cmd := urlget(append(c.flags, "-q", "-r", "-l", "1", "-nd", "-e", "robots=off", site.URL+"/")...)
		cmd.Dir = t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		saved, err := os.ReadDir(cmd.Dir)
		if err != nil || len(saved) != files+1 {
			t.Errorf("%q: %d files, %v", c.flags, len(saved), err)
		}
		if n := most.Load(); n < c.least || n > c.most {
			t.Errorf("%q: %d requests at once, want %d to %d", c.flags, n, c.least, c.most)
		}
	}
}
