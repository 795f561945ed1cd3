package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/serve"
)

// withDownloads sets the directory for downloads.
func withDownloads(dir string) func(*serve.Options, *fetch.Options) {
	return func(opts *serve.Options, _ *fetch.Options) { opts.Downloads = dir }
}

// A slowFile is a file of a web server that supports ranges. Each response but the first, for the page,
// stops in the middle until the test continues it.
type slowFile struct {
	*httptest.Server
	content string
	stopped chan struct{} // gets an element when a response has stopped
	more    chan struct{} // continues a response

	mu     sync.Mutex
	ranges []string // of all requests
}

// last returns the range of the latest request.
func (f *slowFile) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ranges[len(f.ranges)-1]
}

func newSlowFile(t *testing.T) *slowFile {
	f := &slowFile{content: strings.Repeat("0123456789abcdef", 200_000), stopped: make(chan struct{}, 10), more: make(chan struct{}, 10)}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/small" {
			fmt.Fprint(w, "small")
			return
		}
		f.mu.Lock()
		f.ranges = append(f.ranges, r.Header.Get("Range"))
		first := len(f.ranges) == 1
		f.mu.Unlock()
		w.Header().Set("Etag", `"v1"`)
		w.Header().Set("Content-Type", "application/x-disk")
		w.Header().Set("Content-Disposition", `attachment; filename="disk.img"`)
		http.ServeContent(&slowWriter{ResponseWriter: w, file: f, r: r, fast: first}, r, "", time.Time{}, strings.NewReader(f.content))
	}))
	t.Cleanup(f.Close)
	return f
}

type slowWriter struct {
	http.ResponseWriter
	file    *slowFile
	r       *http.Request
	fast    bool
	written int
}

func (w *slowWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	before := w.written
	if w.written += n; !w.fast && before < 2<<20 && w.written >= 2<<20 {
		http.NewResponseController(w.ResponseWriter).Flush()
		w.file.stopped <- struct{}{}
		select {
		case <-w.file.more:
		case <-w.r.Context().Done():
			return n, w.r.Context().Err()
		}
	}
	return n, err
}

// downloads loads the page of downloads until it has the text.
func (u *user) downloads(text string) page {
	u.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		p := u.get("/downloads")
		if strings.Contains(p.text, text) {
			return p
		}
		if time.Now().After(deadline) {
			u.t.Fatalf("no %q in %s", text, p.text)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// save presses the button that saves the content of a page.
func (u *user) save(rawURL string) page {
	u.t.Helper()
	return u.post("/downloads", fieldsOf(u.t, u.open(rawURL), "<button>Save"))
}

// change presses a button of the first download.
func (u *user) change(action string) page {
	u.t.Helper()
	form := fieldsOf(u.t, u.get("/downloads"), `value="`+action+`"`)
	form.Set("action", action)
	return u.post("/downloads/change", form)
}

func TestDownloadsAreCanceledAndResumed(t *testing.T) {
	t.Parallel()
	f, dir := newSlowFile(t), t.TempDir()
	u := start(t, withDownloads(dir))
	u.save(f.URL+"/d").want(t, http.StatusOK, "disk.img")
	<-f.stopped
	u.downloads("2.0 MiB of 3.1 MiB").want(t, http.StatusOK, `http-equiv="refresh"`, "<progress", "Cancel")
	u.get("/downloads?still").without(t, `http-equiv="refresh"`)
	u.change("cancel")
	u.downloads("canceled, 2.0 MiB of 3.1 MiB").without(t, `http-equiv="refresh"`)
	if _, err := os.Stat(filepath.Join(dir, "disk.img")); err == nil {
		t.Error("a part has the name of the file")
	}
	f.more <- struct{}{}
	u.change("resume")
	done := u.downloads(`disk.img</a> <span class="state">3.1 MiB`)
	if got, err := os.ReadFile(filepath.Join(dir, "disk.img")); string(got) != f.content {
		t.Errorf("the file has %d bytes: %v", len(got), err)
	}
	if last := f.last(); !strings.HasPrefix(last, "bytes=2") {
		t.Errorf("the download was resumed with range %q", last)
	}
	u.get(done.find(t, "disk.img")).want(t, http.StatusOK, "disk.img")
	u.change("remove").want(t, http.StatusOK, "No downloads yet.")
	if _, err := os.Stat(filepath.Join(dir, "disk.img")); err != nil {
		t.Errorf("the complete file was removed: %v", err)
	}
}

// A server that ends in the middle of a download lists it the next time.
func TestDownloadsGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	f, dir := newSlowFile(t), t.TempDir()
	u := start(t, withDownloads(dir))
	u.save(f.URL + "/d")
	<-f.stopped
	u.downloads("2.0 MiB of 3.1 MiB")
	if err := u.serve.Close(); err != nil {
		t.Fatal(err)
	}
	f.more <- struct{}{}
	later := start(t, withDownloads(dir))
	later.downloads("interrupted, 2.0 MiB of 3.1 MiB").want(t, http.StatusOK, "disk.img")
	later.change("resume")
	later.downloads(`disk.img</a> <span class="state">3.1 MiB`)
	if got, err := os.ReadFile(filepath.Join(dir, "disk.img")); string(got) != f.content || !strings.HasPrefix(f.last(), "bytes=2") {
		t.Errorf("the file has %d bytes after range %q: %v", len(got), f.last(), err)
	}
}

func TestDownloadsNeverReplaceFiles(t *testing.T) {
	t.Parallel()
	f, dir := newSlowFile(t), t.TempDir()
	u := start(t, withDownloads(dir))
	if err := os.WriteFile(filepath.Join(dir, "small"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	form := fieldsOf(t, u.open(f.URL+"/small"), "<button>Save")
	for name, want := range map[string]string{"": "small.1", "../../x": "x", ".bashrc": "_.bashrc<", "a.part": "a_part"} {
		form.Set("name", name)
		u.post("/downloads", form)
		u.downloads(want)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "small")); string(got) != "mine" {
		t.Errorf("the file of the user has %q", got)
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*")); len(files) != 2 { // dir, and that of the bookmarks
		t.Errorf("a file was saved elsewhere: %v", files)
	}
}

// A download of a link keeps the policy for it: a page cannot make urlget save a local file, nor act
// for the user.
func TestDownloadsFollowThePolicy(t *testing.T) {
	t.Parallel()
	secret := write(t, "secret.bin", "\x00secret")
	evil := web(t, "text/html", `<a href="`+secret+`">x</a>`)
	dir := t.TempDir()
	u := start(t, withDownloads(dir))
	frame := u.get(u.open(evil.URL).find(t, "/content"))
	form := fieldsOf(t, u.open(secret), "<button>Save")
	u.post("/downloads", form)
	u.downloads("7 B</span>") // what the user opens, the user may save

	link := strings.TrimPrefix(frame.find(t, "/view"), "/view?")
	foreign, err := url.ParseQuery(link)
	if err != nil {
		t.Fatal(err)
	}
	u.post("/downloads", foreign)
	u.downloads("failed").want(t, http.StatusOK, "file")
	forged := url.Values{"u": form["u"], "s": {"forged"}}
	u.post("/downloads", forged).want(t, http.StatusForbidden, "not signed")
	r := u.request(http.MethodPost, "/downloads", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", evil.URL)
	u.do(r).want(t, http.StatusForbidden, "does not come from a page of this server")
}
