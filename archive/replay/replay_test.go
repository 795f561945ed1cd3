package replay_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record returns a record without mandatory fields such as WARC-Date.
func record(kind, uri, contentType, block string, more ...string) string {
	return fmt.Sprintf("WARC/1.1\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n",
		kind, uri, contentType, strings.Join(more, ""), len(block), block)
}

func id(n string) string   { return "WARC-Record-ID: <urn:" + n + ">\r\n" }
func date(d string) string { return "WARC-Date: " + d + "\r\n" }

func response(uri, block string, more ...string) string {
	return record("response", uri, "application/http; msgtype=response", block, more...)
}

func ok(body string, fields ...string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", strings.Join(fields, ""), len(body), body)
}

// client returns a client that uses only an archive and must not connect.
func client(t *testing.T, opts replay.Options, records ...string) *fetch.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.warc")
	if err := os.WriteFile(path, []byte(strings.Join(records, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return clientOf(t, opts, path)
}

func clientOf(t *testing.T, opts replay.Options, path string) *fetch.Client {
	t.Helper()
	a, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	opts.Only = true
	c := fetch.New(&fetch.Options{
		Middleware: []fetch.Middleware{a.Middleware(opts)},
		Proxy:      func(uri.URI) (uri.URI, error) { return uri.URI{}, nil },
		DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
			t.Errorf("connection to %s", addr)
			return nil, errors.New("no network in this test")
		},
	}, drivers)
	t.Cleanup(func() { c.Close(); a.Close() })
	return c
}

// get returns the content, or the code of the error.
func get(c *fetch.Client, req *fetch.Request) string {
	resp, err := c.Do(context.Background(), req)
	if err != nil {
		return "! " + string(fetch.CodeOf(err))
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return string(content) + "! " + string(fetch.CodeOf(err))
	}
	return string(content)
}

func getRequest(rawURL string) *fetch.Request { return &fetch.Request{URL: uri.MustParse(rawURL)} }

func TestArchivesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	var gzipped strings.Builder
	z := gzip.NewWriter(&gzipped)
	io.WriteString(z, "pear")
	z.Close()
	c := client(t, replay.Options{},
		record("warcinfo", "", "application/warc-fields", "software: x\r\n"),
		response("<http://h.example/a>", ok("pear", "ETag: \"1\"\r\nLast-Modified: Tue, 20 Dec 1994 12:00:00 GMT\r\n"), id("1"), date("2026-01-01T00:00:00Z")),
		response("http://h.example/chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\npe\r\n2\r\nar\r\n0\r\n\r\n"),
		response("http://h.example/close", "HTTP/1.0 200 OK\r\n\r\npear"),
		response("http://h.example/moved", "HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n"),
		response("http://h.example/gone", "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"),
		response("http://h.example/coded", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"+gzipped.String()),
		response("http://h.example/cut", ok("pear")[:len(ok("pear"))-2], "WARC-Truncated: disconnect\r\n"),
		response(`http://h.example/css?family=A|B "c"`, ok("blanks")),
		response("http://h.example/é", ok("accent")),
		response("http://h.example/segment", "HTTP/1.0 200 OK\r\n\r\npe", "WARC-Segment-Number: 1\r\n"),
		record("continuation", "http://h.example/segment", "", "ar", "WARC-Segment-Number: 2\r\n"),
		record("resource", "ftp://h.example/segment", "text/plain", "pe", "WARC-Segment-Number: 1\r\n"),
		response("http://h.example/cut-close", "HTTP/1.0 200 OK\r\n\r\npe", "WARC-Truncated: disconnect\r\n"),
		record("revisit", "http://h.example/again", "application/http; msgtype=response", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "WARC-Refers-To: <urn:1>\r\n"),
		record("revisit", "http://h.example/by-date", "application/http; msgtype=response", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n",
			"WARC-Refers-To-Target-URI: <http://h.example/a>\r\n", "WARC-Refers-To-Date: 2026-01-01T00:00:00.000Z\r\n"),
		record("revisit", "http://h.example/lost", "application/http; msgtype=response", "HTTP/1.1 200 OK\r\n\r\n", "WARC-Refers-To: <urn:none>\r\n"),
		record("request", "http://h.example/form", "application/http; msgtype=request", "POST /form HTTP/1.1\r\nHost: h.example\r\n\r\na=1", "WARC-Concurrent-To: <urn:form>\r\n"),
		response("http://h.example/form", ok("posted"), id("form")),
		record("resource", "ftp://h.example/file", "application/octet-stream", "pear"),
		response("http://h.example/rubbish", "rubbish"),
		response("http://h.example/h2", "HTTP/2 200\r\nContent-Type: text/plain\r\n\r\npear"),
		response("http://h.example/h2/length", "HTTP/2 200 \r\ncontent-length: 4\r\n\r\npear"),
		response("http://h.example/h3", "HTTP/3 200 OK\r\n\r\npear", id("h3")),
		record("revisit", "http://h.example/h2/again", "application/http; msgtype=response", "HTTP/2 200\r\n\r\n", "WARC-Refers-To: <urn:h3>\r\n"),
		response("http://h.example/continue", "HTTP/1.1 100 Continue\r\n\r\n"+ok("pear")),
		response("http://h.example/hints", "HTTP/2 103\r\nLink: "+strings.Repeat("a", 4096-6)+"\r\n\r\nHTTP/1.1 100 Continue\n\nHTTP/2 200\r\n\r\npear"),
		response("http://h.example/interim", "HTTP/1.1 100 Continue\r\n\r\n"),
	)
	for _, tt := range []struct{ url, want string }{
		{"http://h.example/a", "pear"},
		{"HTTP://H.example:80/a#fragment", "pear"},
		{"http://h.example/chunked", "pear"},
		{"http://h.example/close", "pear"},
		{"http://h.example/moved", "pear"},
		{"http://h.example/gone", "! not_found"},
		{"http://h.example/coded", "pear"},
		{"http://h.example/cut", "pe! truncated"},
		{"http://h.example/css?family=A|B%20%22c%22", "blanks"},
		{"http://h.example/%C3%A9", "accent"},
		{"http://h.example/segment", "pe! truncated"},
		{"ftp://h.example/segment", "pe! truncated"},
		{"http://h.example/cut-close", "pe! truncated"},
		{"http://h.example/again", "pear"},
		{"http://h.example/by-date", "pear"},
		{"http://h.example/lost", "! protocol"},
		{"http://h.example/form", "! not_found"},
		{"ftp://h.example/file", "pear"},
		{"http://h.example/rubbish", "! protocol"},
		{"http://h.example/never", "! not_found"},
		{"file:///etc/passwd", "! not_found"},
		{"http://h.example/h2", "pear"},
		{"http://h.example/h2/length", "pear"},
		{"http://h.example/h3", "pear"},
		{"http://h.example/h2/again", "pear"},
		{"http://h.example/continue", "pear"},
		{"http://h.example/hints", "pear"},
		{"http://h.example/interim", "! protocol"},
	} {
		if got := get(c, getRequest(tt.url)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.url, got, tt.want)
		}
	}
	for _, rawURL := range []string{"http://h.example/a", "ftp://h.example/file"} {
		for _, r := range []struct {
			rng  fetch.Range
			want string
		}{{fetch.Range{Offset: 1, Length: 2}, "ea"}, {fetch.Range{Offset: 2}, "ar"}, {fetch.Range{Offset: -1}, "r"}} {
			req := getRequest(rawURL)
			req.Range = r.rng
			if got := get(c, req); got != r.want {
				t.Errorf("%v of %s: %q, want %q", r.rng, rawURL, got, r.want)
			}
		}
	}
	for _, v := range []fetch.Validator{{ETag: `"1"`}, {ModTime: time.Date(1994, 12, 20, 12, 0, 0, 0, time.UTC)}} {
		req := getRequest("http://h.example/a")
		req.IfChanged = v
		if got := get(c, req); got != "! not_modified" {
			t.Errorf("%+v: %q", v, got)
		}
	}
	post := getRequest("http://h.example/form")
	post.Method, post.GetBody = "POST", formBody
	if got := get(c, post); got != "posted" {
		t.Errorf("POST: %q", got)
	}
	for rawURL, want := range map[string]string{"http://h.example/form": "not in the archive with GET, only with POST", "http://h.example/never": "not in the archive"} {
		if _, err := c.Get(t.Context(), rawURL); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", rawURL, err, want)
		}
	}
	for rawURL, size := range map[string]int64{"http://h.example/a": 4, "ftp://h.example/file": 4, "http://h.example/close": -1} {
		if m, err := c.Stat(context.Background(), &fetch.Request{URL: uri.MustParse(rawURL)}); err != nil || m.Size != size {
			t.Errorf("%s: %+v, %v", rawURL, m, err)
		}
	}
}

func TestCaptureNearestToTime(t *testing.T) {
	t.Parallel()
	var records []string
	for _, year := range []string{"2020", "2022", "2024"} {
		records = append(records, response("http://h.example/", ok(year), date(year+"-06-01T00:00:00Z")))
	}
	records = append(records, response("http://h.example/", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", date("2025-06-01T00:00:00Z")))
	for at, want := range map[string]string{"0001-01-01": "2024", "2019-01-01": "2020", "2021-01-01": "2020", "2022-01-01": "2022", "2030-01-01": "2024"} {
		when, _ := time.Parse(time.DateOnly, at)
		if got := get(client(t, replay.Options{At: when}, records...), getRequest("http://h.example/")); got != want {
			t.Errorf("at %s: %q, want %q", at, got, want)
		}
	}
}

// A capture that is too far from the date is not used, but named if nothing else has one.
func TestCapturesBeyondTheLimit(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.warc")
	if err := os.WriteFile(name, []byte(response("http://h.example/", ok("old"), date("2020-06-01T00:00:00Z"))), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := replay.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	for _, tt := range []struct {
		name   string
		within time.Duration
		only   bool
		next   error // nil if there is another capture
		want   string
	}{
		{"near enough", 24 * time.Hour, false, nil, "old"},
		{"too far, and the only source", time.Hour, true, nil, "not found: the nearest capture is of 2020-06-01T00:00:00Z"},
		{"too far, and another has it", time.Hour, false, nil, "other"},
		{"too far, and another has none", time.Hour, false, fetch.ErrNotFound.Wrap("", errors.New("none there")),
			"not found: in the archive, the nearest capture is of 2020-06-01T00:00:00Z; not found: none there"},
		{"too far, and another fails", time.Hour, false, fetch.ErrServer.Wrap("", errors.New("broken")), "server failure: broken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			other := func(fetch.Driver) fetch.Driver {
				return fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
					return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: io.NopCloser(strings.NewReader("other"))}, tt.next
				})
			}
			opts := replay.Options{Only: tt.only, At: time.Date(2020, 6, 1, 12, 0, 0, 0, time.UTC), Within: tt.within}
			c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{a.Middleware(opts), other}}, drivers)
			t.Cleanup(func() { c.Close() })
			resp, err := c.Do(t.Context(), getRequest("http://h.example/"))
			if err != nil {
				if _, got, _ := strings.Cut(err.Error(), ".example/: "); got != tt.want {
					t.Errorf("%v, want %s", err, tt.want)
				}
				return
			}
			defer resp.Body.Close()
			if text, err := io.ReadAll(resp.Body); string(text) != tt.want || err != nil {
				t.Errorf("got %s, %v, want %s", text, err, tt.want)
			}
		})
	}
}

// Data from an untrusted archive is subject to the same rules as data from a server.
func TestUntrustedArchives(t *testing.T) {
	t.Parallel()
	exchange := func(url, fields string, more ...string) string {
		return record("metadata", url, "application/x-urlget-exchange+json", `{"url":"`+url+`","op":"get",`+fields+`}`, more...)
	}
	c := client(t, replay.Options{},
		response("http://h.example/file", "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n"),
		exchange("gopher://h.example/0a", `"answer":{"kind":"object","size":-1,"location":["file:///etc/passwd"]}`),
		exchange("ftp://h.example/port", `"answer":{"kind":"object","size":-1,"location":["ftp://h.example:25/"]}`),
		response("http://h.example/private", "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:22/\r\n\r\n"),
		exchange("ftp://h.example/name", `"content":"urn:c","answer":{"kind":"object","size":4,"name":"../../.bashrc"}`),
		record("resource", "ftp://h.example/name", "text/plain", "pear", id("c")),
		exchange("ftp://h.example/size", `"content":"urn:c","answer":{"kind":"object","size":99999999999999}`),
		exchange("ftp://h.example/small", `"content":"urn:c","answer":{"kind":"object","size":2}`),
		exchange("ftp://h.example/none", `"content":"urn:none","answer":{"kind":"object","size":2}`),
		exchange("ftp://h.example/empty", `"x":1`),
		exchange("ftp://h.example/rubbish", `"answer":"what"`),
		exchange("ftp://h.example/list/", `"content":"urn:c","entries":"urn:e","answer":{"kind":"listing","size":-1}`),
		record("metadata", "ftp://h.example/list/", "application/x-urlget-entries+json-seq", `{"url":"ftp://h.example/a","name":"a","kind":"object","size":-9}`+"\nrubbish\n", id("e")),
		record("metadata", "ftp://h.example/long", "application/x-urlget-exchange+json", `{"url":"`+strings.Repeat("x", 1<<20)+`"}`),
		exchange("ftp://h.example/loop", `"content":"urn:r","answer":{"kind":"object","size":2}`),
		record("revisit", "ftp://h.example/loop", "text/plain", "", id("r"), "WARC-Refers-To: <urn:r>\r\n"),
		response("http://h.example/head", "HTTP/1.1 200 OK\r\nA: "+strings.Repeat("x", 1<<20)+"\r\n\r\n"),
		"rubbish\r\n")
	for _, tt := range []struct{ url, want string }{
		{"http://h.example/file", "! policy"},
		{"gopher://h.example/0a", "! policy"},
		{"ftp://h.example/port", "! policy"},
		{"http://h.example/private", "! policy"},
		{"ftp://h.example/size", "pear! truncated"},
		{"ftp://h.example/small", "pe! protocol"},
		{"ftp://h.example/none", "! protocol"},
		{"ftp://h.example/empty", "! protocol"},
		{"ftp://h.example/rubbish", "! not_found"},
		{"ftp://h.example/long", "! not_found"},
		{"ftp://h.example/loop", "! protocol"},
		{"http://h.example/head", "! protocol"},
	} {
		if got := get(c, getRequest(tt.url)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.url, got, tt.want)
		}
	}
	resp, err := c.Get(context.Background(), "ftp://h.example/name")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if strings.ContainsAny(resp.Name, "/\\") {
		t.Errorf("file name %q", resp.Name)
	}
	n := 0
	for e, err := range c.List(context.Background(), "ftp://h.example/list/") {
		if n++; n == 1 && (err != nil || e.Size != -1) || n == 2 && fetch.CodeOf(err) != fetch.ErrProtocol {
			t.Errorf("member %d: %+v, %v", n, e, err)
		}
	}
	if n != 2 {
		t.Errorf("%d members", n)
	}
}

// Archives of wget are read completely and have the same meaning.
func TestArchivesOfWget(t *testing.T) {
	t.Parallel()
	const host = "http://127.0.0.1:38103"
	for _, name := range []string{"wget.warc.gz", "wget.warc"} {
		a, err := replay.Open("testdata/" + name)
		if err != nil || a.Damage() != nil {
			t.Fatal(err, a.Damage())
		}
		a.Close()
		c := clientOf(t, replay.Options{}, "testdata/"+name)
		for path, want := range map[string]string{"/pear.html": "<p>A pear is a fruit.</p>\n", "/moved": "<p>A pear is a fruit.</p>\n",
			"/copy.html": "<p>A pear is a fruit.</p>\n", "/chunked": "A pear is a fruit.\n", "/missing": "! not_found"} {
			if got := get(c, getRequest(host+path)); got != want {
				t.Errorf("%s: %s: %q, want %q", name, path, got, want)
			}
		}
	}
	a, err := replay.Open("testdata/wget-dedup.warc", "testdata/wget.warc.gz")
	if err != nil || a.Damage() != nil {
		t.Fatal(err, a.Damage())
	}
	if got := len(a.Captures(uri.MustParse(host+"/pear.html"), 10)); got < 2 {
		t.Errorf("%d captures, want at least 2", got)
	}
	a.Close()
}

func TestRequestsWithoutCapture(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.warc")
	records := record("resource", "x-t:a", "text/plain", "archived") +
		record("revisit", "http://h.example/", "application/http; msgtype=response", "HTTP/1.1 200 OK\r\n\r\n", "WARC-Refers-To: <urn:elsewhere>\r\n")
	if err := os.WriteFile(path, []byte(records), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	live := fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Meta: fetch.Meta{Size: 4}, Body: io.NopCloser(strings.NewReader("live"))}, nil
	})
	for _, tt := range []struct {
		url, want string
		only      bool
	}{
		{"x-t:a", "archived", false},
		{"x-t:b", "live", false},
		{"http://h.example/", "live", false}, // the original of the revisit is missing
		{"http://h.example/", "! protocol", true},
	} {
		c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{a.Middleware(replay.Options{Only: tt.only})}}, fetch.Use("x-t", live), fetch.Use("http", live))
		if got := get(c, getRequest(tt.url)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.url, got, tt.want)
		}
		c.Close()
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.warc")
	if err := os.WriteFile(path, []byte("Dear diary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := replay.Open(path); err == nil || !strings.Contains(err.Error(), path+": not a WARC file") {
		t.Errorf("not a WARC file: %v", err)
	}
	if _, err := replay.Open(path + ".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// An archive does not change, so its errors are not retryable.
func TestErrorsAreNotRetryable(t *testing.T) {
	t.Parallel()
	c := client(t, replay.Options{},
		response("http://h.example/busy", "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"),
		response("http://h.example/cut", "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 10\r\n\r\npear", "WARC-Truncated: disconnect\r\n"),
		response("http://h.example/short", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npear"),
		response("http://h.example/chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npear\r\nrubbish\r\n"),
		response("http://h.example/changed", ok("pear"), blockDigest("peat")))
	for _, u := range []string{"busy", "cut", "short", "chunks", "changed"} {
		resp, err := c.Do(t.Context(), getRequest("http://h.example/"+u))
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		var fetchErr *fetch.Error
		if !errors.As(err, &fetchErr) || fetchErr.Retry || fetchErr.RetryAfter > 0 {
			t.Errorf("%s: %#v", u, err)
		}
	}
}

// The framing of the content depends on the protocol.
func TestFraming(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		head  string
		field string
		want  fetch.Framing
	}{
		{"HTTP/1.1 200 OK\r\n\r\n", "", fetch.FramedByClose},
		{"HTTP/1.1 200 OK\r\n\r\n", "WARC-Protocol: http/1.1\r\n", fetch.FramedByClose},
		{"HTTP/1.1 200 OK\r\n\r\n", "WARC-Protocol: tls/1.3\r\nWARC-Protocol: h2\r\n", fetch.FramedByProtocol},
		{"HTTP/1.1 200 OK\r\n\r\n", "WARC-Protocol: h3\r\n", fetch.FramedByClose}, // see package http3
		{"HTTP/2 200\r\n\r\n", "", fetch.FramedByProtocol},
		{"HTTP/2.0 200 OK\r\n\r\n", "", fetch.FramedByProtocol},
		{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "", fetch.FramedByProtocol},
	} {
		c := client(t, replay.Options{}, response("http://h.example/", tt.head+"pear", tt.field))
		resp, err := c.Get(t.Context(), "http://h.example/")
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.Framing != tt.want || string(content) != "pear" || err != nil {
			t.Errorf("%q, %q: framing %v, %q, %v", tt.head, tt.field, resp.Framing, content, err)
		}
	}
}

// If a scheme does not support an operation, the client uses another one, as during the capture.
func TestUnsupportedOperations(t *testing.T) {
	t.Parallel()
	const exchange = "application/x-urlget-exchange+json"
	const whois = "whois://h.example/pear"
	failure := func(op string) string {
		return `{"op":"` + op + `","failure":{"class":"not_retrievable","message":"not retrievable: whois has none: unsupported operation","unsupported":true}}`
	}
	c := client(t, replay.Options{}, response("http://h.example/", ok("pear"), id("1")),
		record("metadata", whois, exchange, failure("stat"), id("2")),
		record("metadata", whois, exchange, failure("list"), id("3")),
		record("resource", whois, "text/plain", "pear", id("4")),
		record("metadata", whois, exchange, `{"op":"get","content":"urn:4","answer":{"kind":"object","content_type":"text/plain","size":-1}}`, id("5")))
	for _, u := range []string{"http://h.example/", whois} {
		req := getRequest(u)
		if resp, err := c.Stat(t.Context(), req); err != nil || resp.Kind != fetch.KindObject {
			t.Errorf("%s: %v", u, err)
		}
		req.Op = fetch.OpList
		if _, err := c.Do(t.Context(), req); !errors.Is(err, errors.ErrUnsupported) || fetch.CodeOf(err) != fetch.ErrNotRetrievable || strings.Count(err.Error(), "unsupported") != 1 {
			t.Errorf("%s: %v", u, err)
		}
	}
}

// The content may have another URL than the request, but only on the same server.
func TestContentURL(t *testing.T) {
	t.Parallel()
	const exchange = "application/x-urlget-exchange+json"
	const requested = "ftp://me:secret@h.example/a"
	for _, tt := range []struct{ url, want string }{
		{"", requested},
		{"ftp://me@h.example/a/", "ftp://me:secret@h.example/a/"},
		{"ftp://h.example:21/a/", "ftp://h.example:21/a/"},
		{"ftp://h.example:2121/a/", requested},
		{"file:///etc/passwd", requested},
		{"a/", requested},
	} {
		c := client(t, replay.Options{}, record("resource", "ftp://me@h.example/a", "text/plain", "pear", id("1")),
			record("metadata", "ftp://me@h.example/a", exchange, `{"op":"get","content":"urn:1","answer":{"url":"`+tt.url+`","kind":"object","size":-1}}`, id("2")))
		resp, err := c.Do(t.Context(), getRequest(requested))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.URL.String(); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.url, got, tt.want)
		}
	}
}
