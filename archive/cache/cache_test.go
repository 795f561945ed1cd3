package cache

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFreshness(t *testing.T) {
	t.Parallel()
	received := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return received.Add(d).Format(http.TimeFormat) }
	for _, tt := range []struct {
		name   string
		status int
		fields string // NAME: VALUE lines
		until  time.Duration
	}{
		{"nothing is stated", 200, "", 0},
		{"max-age", 200, "Cache-Control: max-age=60", time.Minute},
		{"max-age in quotes, among others", 200, `Cache-Control: public, Max-Age="60"`, time.Minute},
		{"the first of two", 200, "Cache-Control: max-age=60, max-age=90", time.Minute},
		{"max-age before Expires", 200, "Cache-Control: max-age=60\nExpires: " + at(time.Hour), time.Minute},
		{"a shared cache's age is not ours", 200, "Cache-Control: s-maxage=60", 0},
		{"not a number", 200, "Cache-Control: max-age=soon\nExpires: " + at(time.Hour), 0},
		{"a huge number", 200, "Cache-Control: max-age=99999999999999", (1 << 31) * time.Second},
		{"Expires", 200, "Expires: " + at(time.Hour), time.Hour},
		{"Expires after Date", 200, "Date: " + at(-time.Hour) + "\nExpires: " + at(time.Hour), time.Hour},
		{"Expires 0", 200, "Expires: 0", 0},
		{"Age", 200, "Cache-Control: max-age=60\nAge: 20", 40 * time.Second},
		{"the first of two Ages", 200, "Cache-Control: max-age=60\nAge: 20, 0", 40 * time.Second},
		{"an Age too large to count", 200, "Cache-Control: max-age=3600\nAge: 9999999999", 0},
		{"an Age with other characters", 200, "Cache-Control: max-age=3600\nAge: 7200abc", 0},
		{"a negative Age", 200, "Cache-Control: max-age=3600\nAge: -1", 0},
		{"a negative max-age", 200, "Cache-Control: max-age=-1", 0},
		{"a fractional max-age", 200, "Cache-Control: max-age=60.5", 0},
		{"a directive in a quoted string", 200, `Cache-Control: x="a, max-age=90", max-age=60`, time.Minute},
		{"no-store in a quoted string", 200, `Cache-Control: max-age=60, x="no-store"`, time.Minute},
		{"the first of two Expires", 200, "Expires: 0\nExpires: " + at(time.Hour), 0},
		{"an invalid Date", 200, "Date: soon\nExpires: " + at(time.Hour), time.Hour},
		{"a Date in the future", 200, "Date: " + at(time.Hour) + "\nCache-Control: max-age=60", time.Minute},
		{"changed in the future", 200, "Last-Modified: " + at(10*time.Hour), 0},
		{"public makes a lifetime estimable", 201, "Cache-Control: public\nLast-Modified: " + at(-10*time.Hour), time.Hour},
		{"no-cache of a field", 200, `Cache-Control: max-age=60, no-cache="set-cookie"`, 0},
		{"must-understand of a known status", 200, "Cache-Control: max-age=60, no-store, must-understand", time.Minute},
		{"must-understand of an unknown status", 299, "Cache-Control: max-age=60, must-understand", 0},
		{"an old Date", 200, "Cache-Control: max-age=60\nDate: " + at(-20*time.Second), 40 * time.Second},
		{"no-cache", 200, "Cache-Control: max-age=60, no-cache", 0},
		{"no-store", 200, "Cache-Control: max-age=60\nCache-Control: no-store", 0},
		{"a tenth of the age", 200, "Last-Modified: " + at(-10*time.Hour), time.Hour},
		{"at most a day", 200, "Last-Modified: " + at(-10000*time.Hour), 24 * time.Hour},
		{"not of a temporary redirect", 302, "Last-Modified: " + at(-10*time.Hour), 0},
	} {
		h := textproto.MIMEHeader{}
		for line := range strings.Lines(tt.fields) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			h.Add(name, value)
		}
		r := response{status: tt.status, header: h, received: received}
		if tt.until > 0 && !r.answers(nil, received.Add(tt.until-time.Second)) {
			t.Errorf("%s: not fresh before %v", tt.name, tt.until)
		}
		if r.answers(nil, received.Add(tt.until)) {
			t.Errorf("%s: fresh after %v", tt.name, tt.until)
		}
	}
}

// A site is a server that counts requests.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // "PATH If-None-Match"
	body     string
}

func newSite(t *testing.T) *site {
	s := &site{body: "one"}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("If-None-Match")))
		switch r.URL.Path {
		case "/fresh":
			w.Header().Set("Cache-Control", "max-age=600")
		case "/tagged":
			w.Header().Set("Etag", `"`+s.body+`"`)
			if r.Header.Get("If-None-Match") == `"`+s.body+`"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		case "/secret":
			w.Header().Set("Cache-Control", "private, no-store")
		case "/moved":
			w.Header().Set("Cache-Control", "max-age=600")
			http.Redirect(w, r, "/fresh", http.StatusMovedPermanently)
			return
		case "/early":
			w.Header().Set("Link", "</x>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Set("Cache-Control", "no-store")
		}
		fmt.Fprint(w, s.body)
	}))
	t.Cleanup(s.Close)
	return s
}

// A run is what one run of a program retrieves through a cache in a file.
func run(t *testing.T, file string, opts Options, do func(get func(path string, fields ...string) (string, error))) {
	t.Helper()
	runWith(t, file, opts, &fetch.Options{}, func(c *fetch.Client) {
		do(func(url string, fields ...string) (string, error) {
			req := &fetch.Request{URL: uri.MustParse(url), Header: textproto.MIMEHeader{}}
			for i := 0; i+1 < len(fields); i += 2 {
				req.Header.Set(fields[i], fields[i+1])
			}
			return read(t, c, req)
		})
	})
}

// read returns the content of the response to a request.
func read(t *testing.T, c *fetch.Client, req *fetch.Request) (string, error) {
	resp, err := c.Do(t.Context(), req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// runWith is run for a client with options.
func runWith(t *testing.T, file string, opts Options, client *fetch.Options, do func(c *fetch.Client)) {
	t.Helper()
	runFiles(t, file, file, opts, client, do)
}

// runFiles is runWith for a cache with several files that a pattern matches.
func runFiles(t *testing.T, file, files string, opts Options, client *fetch.Options, do func(c *fetch.Client)) {
	t.Helper()
	archive, err := replay.Open(existing(files)...)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	archive.KeepRecent()
	w, err := warc.Create(file, warc.WriterOptions{Append: true, Index: true, Format: capture.Format})
	if err == nil {
		err = archive.Follow(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	recorder := capture.New(w, nil, func(err error) { t.Error(err) })
	opts.Key = []byte("key")
	recorder.ForCache(opts.Key)
	opts.Archive = archive
	client.Recorder, client.Middleware = recorder, []fetch.Middleware{Middleware(opts)}
	c := fetch.New(client, httpdriver.Load)
	do(c)
	c.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func existing(file string) []string {
	list, _ := filepath.Glob(file)
	return list
}

func TestRunsShareACache(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(t.TempDir(), "cache.warc.gz")
	paths := []string{"/fresh", "/tagged", "/secret", "/moved", "/plain", "/early"}
	want := func(get func(string, ...string) (string, error), bodies map[string]string) {
		t.Helper()
		for _, path := range paths {
			if got, err := get(s.URL + path); got != bodies[path] || err != nil {
				t.Errorf("%s: %q, %v, want %q", path, got, err, bodies[path])
			}
		}
	}
	all := func(body string) map[string]string {
		m := map[string]string{}
		for _, path := range paths {
			m[path] = body
		}
		return m
	}
	run(t, file, Options{}, func(get func(string, ...string) (string, error)) { want(get, all("one")) })
	s.requests = nil
	run(t, file, Options{}, func(get func(string, ...string) (string, error)) { want(get, all("one")) })
	if got := strings.Join(s.requests, ", "); got != `/tagged "one", /secret, /plain, /early` {
		t.Errorf("the second run sent %s", got)
	}

	s.requests, s.body = nil, "two"
	changed := all("two")
	changed["/fresh"], changed["/moved"] = "one", "one"
	run(t, file, Options{}, func(get func(string, ...string) (string, error)) {
		want(get, changed)
		if got, _ := get(s.URL+"/fresh", "Cache-Control", "no-cache"); got != "two" {
			t.Errorf("with no-cache: %q", got)
		}
	})
	later := func() time.Time { return time.Now().Add(time.Hour) }
	s.body = "three"
	run(t, file, Options{Now: later}, func(get func(string, ...string) (string, error)) { want(get, all("three")) })

	s.requests = nil
	var missing []string
	run(t, file, Options{Offline: true, Missing: func(u uri.URI) { missing = append(missing, u.Path()) }}, func(get func(string, ...string) (string, error)) {
		for path, want := range map[string]string{"/fresh": "three", "/tagged": "three", "/plain": "three"} {
			if got, err := get(s.URL + path); got != want || err != nil {
				t.Errorf("offline, %s: %q, %v", path, got, err)
			}
		}
		for _, path := range []string{"/secret", "/early", "/new"} {
			if got, err := get(s.URL + path); fetch.CodeOf(err) != fetch.ErrNotFound {
				t.Errorf("offline, %s: %q, %v", path, got, err)
			}
		}
	})
	if len(s.requests) > 0 || strings.Join(missing, " ") != "/secret /early /new" {
		t.Errorf("offline: requests %v, missing %v", s.requests, missing)
	}
}

// A run reuses its own responses. Answers from the cache are not stored again, because they would
// seem to be received again.
func TestAnswersAreStoredOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(t.TempDir(), "cache.warc.gz")
	for range 2 {
		run(t, file, Options{}, func(get func(string, ...string) (string, error)) {
			for range 3 {
				for _, path := range []string{"/fresh", "/tagged", "/moved"} {
					if got, err := get(s.URL + path); got != "one" || err != nil {
						t.Errorf("%s: %q, %v", path, got, err)
					}
				}
			}
		})
	}
	if got := strings.Join(s.requests, ", "); got != "/fresh, /tagged, /moved"+strings.Repeat(`, /tagged "one"`, 5) {
		t.Errorf("the requests were %s", got)
	}
	s.body = "two"
	run(t, file, Options{}, func(get func(string, ...string) (string, error)) {
		if got, err := get(s.URL + "/tagged"); got != "two" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
	a, err := replay.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for path, want := range map[string]string{"/fresh": "200", "/moved": "301", "/tagged": "200 304 304 304 304 304 200"} {
		var list []string
		for _, c := range a.Captures(uri.MustParse(s.URL+path), 100) {
			list = append(list, fmt.Sprint(c.Status))
		}
		if got := strings.Join(list, " "); got != want {
			t.Errorf("%s: stored %s, want %s", path, got, want)
		}
	}
}

// A lookup reads a limited number of the responses 304 that confirmed a response, in the run that receives
// them and in the next one.
func TestConfirmationsAreLookedUpInLimitedTime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(t.TempDir(), "cache.warc.gz")
	const times, most = 80, 130
	for range 2 {
		run(t, file, Options{}, func(get func(string, ...string) (string, error)) {
			for range times {
				if got, err := get(s.URL + "/tagged"); got != "one" || err != nil {
					t.Fatalf("%q, %v", got, err)
				}
			}
		})
	}
	if n := len(s.requests); n != 2*times || s.requests[n-1] != `/tagged "one"` {
		t.Errorf("%d requests, the last one is %s", n, s.requests[n-1])
	}
	a, err := replay.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.KeepRecent()
	if n := len(a.Captures(uri.MustParse(s.URL+"/tagged"), 1000)); n > most {
		t.Errorf("%d captures are read", n)
	}
}

// Another run, which may be another process, knows what a request may have changed.
func TestInvalidationsHoldForLaterRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dir := t.TempDir()
	mine, other := filepath.Join(dir, "cache.warc.gz"), filepath.Join(dir, "other.warc.gz")
	read := func(c *fetch.Client, req *fetch.Request) {
		t.Helper()
		if got, err := read(t, c, req); got != "one" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	url := uri.MustParse(s.URL + "/fresh")
	runWith(t, mine, Options{}, &fetch.Options{}, func(c *fetch.Client) { read(c, &fetch.Request{URL: url}) })
	runWith(t, other, Options{}, &fetch.Options{}, func(c *fetch.Client) {
		read(c, &fetch.Request{URL: url, Method: "DELETE"})
	})
	for range 2 { // with the archives of both runs; then the response to the first one is stored
		files := filepath.Join(dir, "*.warc.gz")
		runFiles(t, mine, files, Options{}, &fetch.Options{}, func(c *fetch.Client) { read(c, &fetch.Request{URL: url}) })
	}
	if got := strings.Join(s.requests, ", "); got != "/fresh, /fresh, /fresh" {
		t.Errorf("the requests were %s", got)
	}
}
