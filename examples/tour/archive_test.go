package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/warccheck"
)

// outcome is the outcome of a request for a caller.
type outcome struct {
	URL, Via string
	Meta     fetch.Meta
	Content  string
	Entries  []string
	Error    string
	Class    fetch.Code
	Reply    fetch.Reply
	Reason   fetch.Reason
}

// doRequest performs a request and returns its outcome.
func doRequest(c *fetch.Client, req *fetch.Request) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var out outcome
	resp, err := c.Do(ctx, req)
	if err == nil {
		defer resp.Body.Close()
		out.URL, out.Via, out.Meta = resp.URL.String(), fmt.Sprint(resp.Via), resp.Meta
		if resp.Kind == fetch.KindSession {
			said := make([]byte, 6)
			io.WriteString(resp.Body.(io.Writer), "pear\r\n")
			if _, err := io.ReadFull(resp.Body, said); err != nil {
				out.Error = err.Error()
			}
			out.Content = string(said)
			return out
		}
		var content strings.Builder
		resp.Tee(&content)
		if resp.Entries != nil {
			for e, entryErr := range resp.Entries {
				if entryErr != nil {
					err = entryErr
					break
				}
				facts, _ := json.Marshal(e.Facts())
				out.Entries = append(out.Entries, fmt.Sprintf("%s %q %v %s %q %d %v %s %s", e.URL, e.Name, e.Kind, e.Rel,
					e.ContentType, e.Size, e.ModTime.UTC(), e.Facts().Driver, facts))
			}
		} else {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		out.Content = content.String()
	}
	var e *fetch.Error
	if errors.As(err, &e) {
		out.Error, out.Class, out.Reply, out.Reason = e.Message(), e.Code, e.Reply, e.Reason
	}
	return out
}

// TestReplayOfTour records the tour in one archive, stops the servers, and repeats all requests
// against the archive.
func TestReplayOfTour(t *testing.T) {
	s := &stage{}
	down := false
	defer func() {
		if !down {
			s.tearDown()
		}
	}()
	v := s.start()
	file := filepath.Join(t.TempDir(), "tour.warc.gz")
	w, err := warc.Create(file, warc.WriterOptions{Index: true})
	if err != nil {
		t.Fatal(err)
	}
	var requests []*fetch.Request
	add := func(op fetch.Op, u uri.URI, change ...func(*fetch.Request)) {
		req := &fetch.Request{URL: u, Op: op}
		for _, f := range change {
			f(req)
		}
		requests = append(requests, req)
	}
	at := func(scheme, rest string) uri.URI { return uri.MustParse(scheme + "://" + v.Addr(scheme) + rest) }
	for _, u := range v.visitURLs() {
		if u.Scheme() == "telnet" {
			continue
		}
		add(fetch.OpGet, u)
		add(fetch.OpStat, u)
		add(fetch.OpList, u)
	}
	refused := refusedAddr(t)
	for _, absent := range []uri.URI{at("http", "/absent"), at("https", "/absent"), at("ftp", "/absent"), at("gopher", "/0/absent"),
		at("gemini", "/absent"), at("tftp", "/absent"), at("finger", "/absent"), at("dict", "/d:absent"), at("nntp", "/absent/1"),
		at("prospero", "//absent"), at("cso", "/absent"), uri.MustParse("mid:absent@example.org"), uri.MustParse("file:///absent"),
		uri.MustParse("http://" + refused + "/"), uri.MustParse("gopher://" + refused + "/"), uri.MustParse("http://127.0.0.1:1/")} {
		add(fetch.OpGet, absent)
	}
	add(fetch.OpDial, at("telnet", "/"))
	asks := gopherd.Start(t, gopherd.Options{Plus: true, Attributes: map[string]string{"/form": "+ASK:\r\n Ask: Your name:\r\n"},
		Tree: fstest.MapFS{"form": {}}, Replies: map[string]string{"/search\tpear": "0A pear\t/pear\th\t70\r\n.\r\n", "/search\tplum": "0A plum\t/plum\th\t70\r\n.\r\n"}})
	form := uri.MustParse("gopher://" + asks.Addr + "/0/form%09%09%3F")
	add(fetch.OpGet, form) // returns a form
	for _, name := range []string{"Alice", "Bob"} {
		add(fetch.OpGet, form, func(r *fetch.Request) { r.Form = map[string][]string{"Your name:": {name}} })
	}
	for _, words := range []string{"pear", "plum"} {
		add(fetch.OpGet, uri.MustParse("gopher://"+asks.Addr+"/7/search%09"+words))
	}
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Method+" ")
		io.Copy(w, r.Body)
	}))
	t.Cleanup(echo.Close)
	for _, words := range []string{"a=1", "a=2"} {
		add(fetch.OpGet, uri.MustParse(echo.URL+"/form"), func(r *fetch.Request) {
			r.Method, r.ContentLength = "POST", 3
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(words)), nil }
		})
	}
	add(fetch.OpGet, uri.MustParse(echo.URL+"/form"))
	add(fetch.OpGet, at("http", "/fruit")) // redirects
	add(fetch.OpGet, at("gemini", "/fruit"))
	add(fetch.OpGet, at("ftp", "/fruit/*.txt"))
	ranged := func(r *fetch.Request) { r.Range = fetch.Range{Offset: 100, Length: 50} }
	add(fetch.OpGet, at("http", "/large.bin"), ranged)

	record := func(c *capture.Capture) map[int]outcome {
		client := v.clientWith(func(o *fetch.Options) { o.Recorder = c })
		defer client.Close()
		all := make(map[int]outcome)
		for i, req := range requests {
			all[i] = doRequest(client, req)
		}
		return all
	}
	live := record(capture.New(w, capture.NewSeen(), func(err error) { t.Error(err) }))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.tearDown()
	down = true
	asks.Close()
	echo.Close()

	// The checker shares no code with the writer.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := warccheck.Read(text); err != nil || len(list) < len(requests) {
		t.Errorf("%d records: %v", len(list), err)
	}

	for _, index := range []bool{true, false} { // with the index, and by reading the archive
		if !index {
			if err := os.Remove(filepath.Join(filepath.Dir(file), "tour.cdxj")); err != nil {
				t.Fatal(err)
			}
		}
		replayed(t, v, file, requests, live, at)
	}
}

// replayed repeats all requests against an archive and compares the outcomes with the live ones.
func replayed(t *testing.T, v *site, file string, requests []*fetch.Request, live map[int]outcome, at func(scheme, rest string) uri.URI) {
	t.Helper()
	a, err := replay.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.Damage() != nil {
		t.Error(a.Damage())
	}
	client := v.clientWith(func(o *fetch.Options) {
		o.Middleware = []fetch.Middleware{a.Middleware(replay.Options{Only: true})}
	})
	defer client.Close()
	failures := make(map[fetch.Code]int)
	for _, i := range slices.Sorted(maps.Keys(live)) {
		want, got := live[i], doRequest(client, requests[i])
		name := requests[i].Op.String() + " " + requests[i].URL.String()
		if want.Class != "" {
			failures[want.Class]++
		} else if got.Meta.Capture == nil && got.Class == "" {
			t.Errorf("%s: the replay does not name its capture", name)
		}
		got.Meta.Capture = nil // only replays have one
		if diff := cmp.Diff(want, got, cmp.Transformer("time", func(t time.Time) string { return t.UTC().String() }),
			cmp.Comparer(func(a, b fetch.Validator) bool { return a.ETag == b.ETag && a.ModTime.Equal(b.ModTime) }),
			cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%s: replay differs (-live +replayed):\n%s", name, diff)
		}
	}
	for _, class := range []fetch.Code{fetch.ErrNotFound, fetch.ErrNetwork, fetch.ErrNotRetrievable, fetch.ErrPolicy} {
		if failures[class] == 0 {
			t.Errorf("no failure of class %s among %v", class, failures)
		}
	}
	if got := doRequest(client, &fetch.Request{URL: at("http", "/never")}); got.Class != fetch.ErrNotFound {
		t.Errorf("request without a capture: %+v", got)
	}
	if shown := doRequest(client, &fetch.Request{URL: at("telnet", "/"), Op: fetch.OpDial}); shown.Content != "login:" {
		t.Errorf("session: %+v", shown)
	}
	partial := &fetch.Request{URL: v.visitURLs()[3], Range: fetch.Range{Offset: 10, Length: 20}}
	if got := doRequest(client, partial); len(got.Content) != 20 || got.Meta.Range != partial.Range {
		t.Errorf("range of a complete capture: %+v", got)
	}
}

// refusedAddr returns an address that refuses connections until the test ends: that of a connected client.
func refusedAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.LocalAddr().String()
}

// clientWith returns a client with changed options.
func (v *site) clientWith(change func(*fetch.Options)) *fetch.Client {
	o := &fetch.Options{TLS: &tls.Config{RootCAs: v.Roots}}
	change(o)
	return fetch.New(o, v.drivers())
}

// TestMirrorsOfArchive mirrors the servers, stops them, and mirrors their archive.
func TestMirrorsOfArchive(t *testing.T) {
	s := &stage{}
	v := s.start()
	file := filepath.Join(t.TempDir(), "trees.warc.gz")
	w, err := warc.Create(file, warc.WriterOptions{Index: true})
	if err != nil {
		s.tearDown()
		t.Fatal(err)
	}
	schemes := []string{"http", "https", "ftp", "ftps", "gopher", "gophers", "gemini", "spartan", "nex", "prospero"}
	record := capture.New(w, capture.NewSeen(), func(err error) { t.Error(err) })
	live := v.clientWith(func(o *fetch.Options) { o.Recorder = record })
	copies := make(map[string]string) // directories
	for _, scheme := range schemes {
		copies[scheme] = t.TempDir()
		mirrorInto(t, live, copies[scheme], uri.MustParse(scheme+"://"+v.Addr(scheme)+"/"), false)
	}
	live.Close()
	s.tearDown()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := replay.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	client := v.clientWith(func(o *fetch.Options) {
		o.Middleware = []fetch.Middleware{a.Middleware(replay.Options{Only: true})}
	})
	defer client.Close()
	for _, scheme := range schemes {
		seed := uri.MustParse(scheme + "://" + v.Addr(scheme) + "/")
		again := t.TempDir()
		for _, newer := range []bool{false, true} { // the second run looks for changes
			mirrorInto(t, client, again, seed, newer)
			want, got := files(t, copies[scheme]), files(t, again)
			if diff := cmp.Diff(want, got); diff != "" || len(want) < len(tree) {
				t.Errorf("%s: %d files; -live +replayed:\n%s", scheme, len(want), diff)
			}
		}
	}
}

// mirrorInto mirrors seed into dir. Only robots.txt, which is missing, may fail.
func mirrorInto(t *testing.T, c *fetch.Client, dir string, seed uri.URI, newer bool) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, err = mirror.Run(t.Context(), &download.Downloader{Client: c, Root: root}, []uri.URI{seed}, &mirror.Options{
		Newer: newer,
		Crawl: crawl.Options{Scope: crawl.Scope{MaxDepth: -1}},
		Ended: func(e mirror.Event) {
			if e.Err != nil {
				t.Errorf("%s: %v", e.URL.Redacted(), e.Err)
			}
		},
	})
	if err != nil {
		t.Fatalf("%s: %v", seed, err)
	}
}

// files returns the contents and times of the files below dir by name, except the state.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Name() == ".urlget":
			return filepath.SkipDir
		case e.IsDir():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		at := ""
		if info.ModTime().Year() < 2000 { // set from the server; otherwise the time of the download
			at = info.ModTime().UTC().String()
		}
		name, err := filepath.Rel(dir, path)
		all[name] = fmt.Sprintf("%s %x", at, sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
