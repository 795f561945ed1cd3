package mirror_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// TestDeleteUnlinked mirrors a site whose first page later links to nothing.
func TestDeleteUnlinked(t *testing.T) {
	t.Parallel()
	const links = `<a href=a.html>a</a><img src=i.png><a href=stays>s</a>`
	tests := []struct {
		name   string
		keep   bool           // Delete is not set
		status map[string]int // of later responses
		want   []string       // the files that remain
		kept   bool           // Report.Kept is set
		later  string         // the first page of the second run
		asks   []string       // requests other than those for the first page
	}{
		{name: "not found and gone", status: map[string]int{"/a.html": 404, "/i.png": 410}, want: []string{"index.html", "stays"},
			asks: []string{"GET /a.html", "GET /i.png", "HEAD /a.html", "HEAD /i.png", "HEAD /stays"}},
		{name: "only HEAD is not found", status: map[string]int{"HEAD": 404, "/a.html": 404}, want: []string{"i.png", "index.html", "stays"},
			asks: []string{"GET /a.html", "GET /i.png", "GET /stays", "HEAD /a.html", "HEAD /i.png", "HEAD /stays"}},
		{name: "without Delete", keep: true, status: map[string]int{"/a.html": 404}, want: []string{"a.html", "i.png", "index.html", "stays"}},
		{name: "other errors", status: map[string]int{"/a.html": 403, "/i.png": 503}, want: []string{"a.html", "i.png", "index.html", "stays"},
			asks: []string{"GET /a.html", "GET /a.html", "HEAD /a.html", "HEAD /i.png"}}, // none after 503
		{name: "a redirect", status: map[string]int{"/a.html": 302, "/i.png": 404}, want: []string{"a.html", "index.html", "stays"},
			asks: []string{"GET /i.png", "HEAD /a.html", "HEAD /i.png", "HEAD /stays"}},
		{name: "HEAD is not supported", status: map[string]int{"HEAD": 405, "/a.html": 404}, want: []string{"i.png", "index.html", "stays"},
			asks: []string{"GET /a.html", "GET /a.html", "GET /i.png", "GET /stays", "HEAD /a.html", "HEAD /i.png", "HEAD /stays"}},
		{name: "a page failed", later: "<a href=broken>b</a>", status: map[string]int{"/broken": 403, "/a.html": 404}, kept: true,
			want: []string{"a.html", "i.png", "index.html", "stays"}, asks: []string{"GET /broken"}},
		{name: "excluded by robots.txt", status: map[string]int{"/a.html": 404, "/robots.txt": 200}, want: []string{"a.html", "i.png", "index.html", "stays"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var lock sync.Mutex
			page, status := links, map[string]int(nil)
			var asks []string
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				lock.Lock()
				defer lock.Unlock()
				code := status[r.URL.Path]
				switch {
				case r.URL.Path == "/robots.txt":
					if code == 0 {
						http.NotFound(w, r)
						return
					}
					w.Write([]byte("User-agent: *\nDisallow: /"))
					return
				case r.URL.Path != "/":
					asks = append(asks, r.Method+" "+r.URL.Path)
				}
				if r.Method == "HEAD" && status["HEAD"] != 0 {
					code = status["HEAD"]
				}
				w.Header().Set("Content-Type", "text/html")
				if code != 0 {
					w.Header().Set("Location", "/elsewhere")
					w.WriteHeader(code)
				}
				if r.URL.Path == "/" {
					w.Write([]byte(page))
				}
			}))
			t.Cleanup(site.Close)
			dir := t.TempDir()
			opts := noHost()
			opts.Delete = !tt.keep
			run(t, dir, site.URL+"/", opts)
			lock.Lock()
			page, status, asks = tt.later, tt.status, nil
			lock.Unlock()
			events, r := run(t, dir, site.URL+"/", opts)
			var left []string
			for name := range files(t, dir) {
				left = append(left, name)
			}
			slices.Sort(left)
			slices.Sort(asks)
			if !slices.Equal(left, tt.want) || int(r.Deleted) != 4-len(tt.want) || (len(r.Kept) > 0) != tt.kept {
				t.Errorf("files %q, want %q: %+v, %q", left, tt.want, r, events)
			}
			if !slices.Equal(asks, tt.asks) {
				t.Errorf("requests %q, want %q", asks, tt.asks)
			}
		})
	}
}

// TestDirectoriesOfRemovedPages removes the directories that become empty, but no links to directories.
func TestDirectoriesOfRemovedPages(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"/": `<a href=d/e/x>x</a> <a href=d/y>y</a> <a href=f/g/z>z</a> <a href=h/w>w</a> <a href=l/v>v</a>`,
		"/d/e/x": "x", "/d/y": "y", "/f/g/z": "z", "/h/w": "w", "/l/v": "v"}
	site, _ := pages(t, texts)
	dir := t.TempDir()
	run(t, dir, site.URL+"/", noHost())
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "h", "own"), nil, 0o600),
		os.Rename(filepath.Join(dir, "l"), filepath.Join(dir, "elsewhere")),
		os.Symlink("elsewhere", filepath.Join(dir, "l")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/d/e/x", "/f/g/z", "/h/w", "/l/v"} {
		delete(texts, path)
	}
	opts := noHost()
	opts.Delete = true
	run(t, dir, site.URL+"/", opts)
	for name, want := range map[string]bool{"d/y": true, "d/e": false, "f": false, "h/own": true, "h/w": false, "l": true} {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
