package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/capture"
	"github.com/urlget/urlget/fetch/replay"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetch/warc"
	"github.com/urlget/urlget/internal/warccheck"
)

// seen is all that a caller sees of a request.
type seen struct {
	URL, Via string
	Meta     fetch.Meta
	Content  string
	Entries  []string
	Error    string
	Class    fetch.Code
	Reply    fetch.Reply
	Reason   fetch.Reason
}

// look performs a request and returns what is seen of it.
func look(c *fetch.Client, req *fetch.Request) seen {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out seen
	resp, err := c.Do(ctx, req)
	if err == nil {
		defer resp.Body.Close()
		out.URL, out.Via, out.Meta = resp.URL.String(), fmt.Sprint(resp.Via), resp.Meta
		var content strings.Builder
		resp.Tee(&content)
		if resp.Entries != nil {
			for e, entryErr := range resp.Entries {
				if entryErr != nil {
					err = entryErr
					break
				}
				sys, _ := json.Marshal(e.Sys)
				out.Entries = append(out.Entries, fmt.Sprintf("%s %q %v %s %q %d %v %s %s", e.URL, e.Name, e.Kind, e.Rel,
					e.ContentType, e.Size, e.ModTime.UTC(), e.SysName(), sys))
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

// TestAnArchiveAnswersAsTheServersDid records the tour in one archive, stops the servers, and asks
// for everything again.
func TestAnArchiveAnswersAsTheServersDid(t *testing.T) {
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
	at := func(scheme, rest string) uri.URI { return uri.MustParse(scheme + "://" + v.addr[scheme] + rest) }
	for _, u := range v.stops() {
		if u.Scheme() == "telnet" {
			continue
		}
		add(fetch.OpGet, u)
		add(fetch.OpStat, u)
		add(fetch.OpList, u)
	}
	for _, absent := range []uri.URI{at("http", "/absent"), at("https", "/absent"), at("ftp", "/absent"), at("gopher", "/0/absent"),
		at("gemini", "/absent"), at("tftp", "/absent"), at("finger", "/absent"), at("dict", "/d:absent"), at("nntp", "/absent/1"),
		at("prospero", "//absent"), at("cso", "/absent"), uri.MustParse("mid:absent@example.org"), uri.MustParse("file:///absent"),
		uri.MustParse("http://" + nobody(t) + "/"), uri.MustParse("gopher://" + nobody(t) + "/"), uri.MustParse("http://127.0.0.1:1/")} {
		add(fetch.OpGet, absent)
	}
	add(fetch.OpGet, at("http", "/fruit")) // which redirects
	add(fetch.OpGet, at("gemini", "/fruit"))
	add(fetch.OpGet, at("ftp", "/fruit/*.txt"))
	ranged := func(r *fetch.Request) { r.Range = fetch.Range{Offset: 100, Length: 50} }
	add(fetch.OpGet, at("http", "/large.bin"), ranged)

	record := func(c *capture.Capture) map[int]seen {
		client := v.clientWith(func(o *fetch.Options) { o.Recorder = c.Recorder })
		defer client.Close()
		all := make(map[int]seen)
		for i, req := range requests {
			all[i] = look(client, req)
		}
		return all
	}
	live := record(capture.New(w, capture.NewSeen(), func(err error) { t.Error(err) }))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.tearDown()
	down = true

	// A reader that shares no code with the writer finds nothing wrong.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := warccheck.Read(text); err != nil || len(list) < len(requests) {
		t.Errorf("%d records: %v", len(list), err)
	}

	for _, index := range []bool{true, false} { // the archive is found by its index, and read
		if !index {
			if err := os.Remove(filepath.Join(filepath.Dir(file), "tour.cdxj")); err != nil {
				t.Fatal(err)
			}
		}
		replayed(t, v, file, requests, live, at)
	}
}

// replayed asks an archive for everything, and compares it with what was live.
func replayed(t *testing.T, v *servers, file string, requests []*fetch.Request, live map[int]seen, at func(scheme, rest string) uri.URI) {
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
		want, got := live[i], look(client, requests[i])
		name := requests[i].Op.String() + " " + requests[i].URL.String()
		if want.Class != "" {
			failures[want.Class]++
		}
		if diff := cmp.Diff(want, got, cmp.Transformer("time", func(t time.Time) string { return t.UTC().String() }),
			cmp.Comparer(func(a, b fetch.Validator) bool { return a.ETag == b.ETag && a.ModTime.Equal(b.ModTime) }),
			cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%s: replayed is not what was live (-live +replayed):\n%s", name, diff)
		}
	}
	for _, class := range []fetch.Code{fetch.ErrNotFound, fetch.ErrNetwork, fetch.ErrNotRetrievable, fetch.ErrPolicy} {
		if failures[class] == 0 {
			t.Errorf("no failure of class %s was among them: %v", class, failures)
		}
	}
	if got := look(client, &fetch.Request{URL: at("http", "/never")}); got.Class != fetch.ErrNotFound {
		t.Errorf("what is not in the archive: %+v", got)
	}
	partial := &fetch.Request{URL: v.stops()[3], Range: fetch.Range{Offset: 10, Length: 20}}
	if got := look(client, partial); len(got.Content) != 20 || got.Meta.Range != partial.Range {
		t.Errorf("a range out of the whole: %+v", got)
	}
}

// nobody returns an address at which nobody listens.
func nobody(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// clientWith is client with other options.
func (v *servers) clientWith(change func(*fetch.Options)) *fetch.Client {
	o := &fetch.Options{TLS: &tls.Config{RootCAs: v.roots}}
	change(o)
	return fetch.New(o, v.drivers())
}
