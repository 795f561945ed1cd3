package mirror_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// TestInterruptedFileResumes interrupts a mirror within a large page. The next run requests only the
// rest of the page, and finds all of its links.
func TestInterruptedFileResumes(t *testing.T) {
	t.Parallel()
	page := "<a href=first>1</a>" + strings.Repeat(" ", 400_000) + "<a href=last>2</a>"
	tests := []struct {
		name   string
		newer  bool
		before string // the page of an earlier complete run; "" means that there was none
		later  string // the page when the mirror resumes
		want   []string
	}{
		{name: "once", later: page, want: []string{"bytes=200000-"}},
		{name: "updated", newer: true, later: page, want: []string{"bytes=200000-"}},
		{name: "updated, replaces a file", newer: true, before: "old", later: page, want: []string{"bytes=200000-"}},
		{name: "changed on the server", newer: true, later: page + "<!-- changed -->", want: []string{"bytes=200000-"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var lock sync.Mutex
			text, stopAt := page, 0
			var ranges []string
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				if r.URL.Path != "/" {
					w.Header().Set("ETag", `"page"`)
					return
				}
				lock.Lock()
				text, stopAt := text, stopAt
				ranges = append(ranges, r.Header.Get("Range"))
				lock.Unlock()
				w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(text)))
				if stopAt == 0 {
					http.ServeContent(w, r, "", time.Time{}, bytes.NewReader([]byte(text)))
					return
				}
				w.Header().Set("Content-Length", fmt.Sprint(len(text)))
				fmt.Fprint(w, text[:stopAt])
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}))
			t.Cleanup(site.Close)
			dir := t.TempDir()
			opts := noHost()
			opts.Newer, opts.Crawl.NoRobots = tt.newer, true
			if tt.before != "" {
				text = tt.before
				run(t, dir, site.URL+"/", opts)
				text = page
			}
			stopAt = 200_000
			interruptTransfer(t, dir, site.URL+"/", opts, int64(stopAt))
			lock.Lock()
			text, stopAt, ranges = tt.later, 0, nil
			lock.Unlock()
			events, r := run(t, dir, site.URL+"/", opts)
			if !r.Continued || r.Failed > 0 || !slices.Equal(ranges, tt.want) {
				t.Errorf("requested %q, want %q: %+v, %q", ranges, tt.want, r, events)
			}
			compare(t, "after the second run", files(t, dir), map[string]string{"index.html": tt.later, "first": "", "last": ""})
		})
	}
}

// interruptTransfer mirrors into dir until n bytes of a file have been received.
func interruptTransfer(t *testing.T, dir, seed string, opts mirror.Options, n int64) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := fetch.New(nil, drivers)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts.Progress = func(_ context.Context, _ string, done, _ int64) {
		if done >= n {
			cancel()
		}
	}
	_, err = mirror.Run(ctx, &download.Downloader{Client: c, Root: root}, []uri.URI{uri.MustParse(seed)}, &opts)
	if fetch.CodeOf(err) != fetch.ErrInterrupted {
		t.Fatal(err)
	}
}

// TestInterruptedFileResumesOverFTP is TestInterruptedFileResumes for a listing.
func TestInterruptedFileResumesOverFTP(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("0123456789abcdef", 1<<19)
	s := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"big.bin": {Data: []byte(content), ModTime: day}}})
	dir := t.TempDir()
	s.Arm(servers.Failure{Fault: servers.Stall, On: "RETR"}) // the transfer must not end first
	interruptTransfer(t, dir, s.URL+"/", noHost(), 1<<20)
	s.Fail(servers.None)
	before := len(s.Log())
	events, r := run(t, dir, s.URL+"/", noHost())
	if !r.Continued || r.Saved != 1 || r.Received > int64(len(content))*15/16 {
		t.Errorf("%+v, %q", r, events)
	}
	if !slices.ContainsFunc(s.Log()[before:], func(command string) bool { return strings.HasPrefix(command, "REST ") }) {
		t.Errorf("commands %q", s.Log()[before:])
	}
	compare(t, "after the second run", files(t, dir), map[string]string{"big.bin": content})
}
