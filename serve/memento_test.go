package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/archive/memento"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/serve"
)

// archiveOf writes an archive of responses to http://h.example/PATH and opens it. Each is a time, a path
// and the message.
func archiveOf(t *testing.T, list ...[3]string) *replay.Archive {
	t.Helper()
	var text strings.Builder
	for i, c := range list {
		fmt.Fprintf(&text, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-%012d>\r\nWARC-Date: %s\r\n"+
			"WARC-Target-URI: http://h.example/%s\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", i, c[0], c[1], len(c[2]), c[2])
	}
	path := filepath.Join(t.TempDir(), "a.warc")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// captures returns an archive of captures of http://h.example/x. Each is a time and its body.
func captures(t *testing.T, list ...[2]string) *replay.Archive {
	t.Helper()
	var messages [][3]string
	for _, c := range list {
		messages = append(messages, [3]string{c[0], "x", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(c[1]), c[1])})
	}
	return archiveOf(t, messages...)
}

// startGate runs a server with an archive, and returns the URL of its TimeGate.
func startGate(t *testing.T, a *replay.Archive) (u *user, gate string) {
	t.Helper()
	u = start(t, func(opts *serve.Options, common *fetch.Options) {
		opts.Archive, common.Middleware = a, []fetch.Middleware{serve.Archived(a, replay.Options{Only: true})}
	})
	return u, u.serve.TimeGate(u.server.Listener.Addr().String())
}

// startArchive runs a server with an archive of three captures.
func startArchive(t *testing.T) (u *user, gate string) {
	t.Helper()
	return startGate(t, captures(t, [2]string{"1997-05-01T12:00:00Z", "old"}, [2]string{"2005-06-07T00:00:00Z", "middle<script>1</script>"}, [2]string{"2020-01-01T00:00:00Z", "new"}))
}

// ask sends a request of another program, which has no cookie and follows no redirects.
func ask(t *testing.T, method, url string, fields ...string) page {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return page{resp.StatusCode, resp.Header, string(text), url}
}

func TestArchivesAreTimeGates(t *testing.T) {
	t.Parallel()
	u, gate := startArchive(t)
	for date, want := range map[string]string{"": "20200101000000", "Thu, 01 May 1997 00:00:00 GMT": "19970501120000",
		"Sat, 01 Jan 2000 00:00:00 GMT": "19970501120000", "Wed, 01 Jan 2003 00:00:00 GMT": "20050607000000", "Fri, 01 Jan 2100 00:00:00 GMT": "20200101000000"} {
		p := ask(t, http.MethodGet, gate+"http://h.example/x", "Accept-Datetime", date)
		if got := p.header.Get("Location"); p.status != http.StatusFound || !strings.HasSuffix(got, "/"+want+"/http://h.example/x") || p.header.Get("Vary") != "accept-datetime" {
			t.Errorf("%s: %d to %s, %v", date, p.status, got, p.header)
		}
		if link := p.header.Get("Link"); !strings.Contains(link, `<http://h.example/x>; rel="original"`) || !strings.Contains(link, `rel="timemap"`) {
			t.Errorf("%s: the links are %s", date, link)
		}
	}
	middle := ask(t, http.MethodGet, ask(t, http.MethodGet, gate+"http://h.example/x", "Accept-Datetime", "Tue, 07 Jun 2005 00:00:00 GMT").header.Get("Location"))
	middle.want(t, http.StatusOK, "middle<script>1</script>")
	h := middle.header
	if h.Get("Memento-Datetime") != "Tue, 07 Jun 2005 00:00:00 GMT" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox") ||
		!strings.Contains(h.Get("Link"), `/19970501120000/http://h.example/x>; rel="prev memento"`) || !strings.Contains(h.Get("Link"), `/20200101000000/http://h.example/x>; rel="next memento"`) {
		t.Errorf("the capture has %v", h)
	}
	list := ask(t, http.MethodGet, strings.Replace(gate, "/timegate/", "/timemap/", 1)+"http://h.example/x")
	list.want(t, http.StatusOK, `rel="first memento"; datetime="Thu, 01 May 1997 12:00:00 GMT"`, `rel="memento"; datetime="Tue, 07 Jun 2005`, `rel="last memento"`, `rel="self"`)
	if list.header.Get("Content-Type") != "application/link-format" {
		t.Errorf("the TimeMap is %v", list.header)
	}
	u.get("/archive").want(t, http.StatusOK, gate)
}

func TestTimeGatesRefuse(t *testing.T) {
	t.Parallel()
	_, gate := startArchive(t)
	root := strings.TrimSuffix(gate, "timegate/")
	for _, tt := range []struct {
		method, url string
		status      int
		fields      []string
	}{
		{http.MethodGet, gate + "http://h.example/other", http.StatusNotFound, nil},
		{http.MethodGet, gate + "relative", http.StatusBadRequest, nil},
		{http.MethodGet, gate, http.StatusBadRequest, nil},
		{http.MethodGet, root + "timegate", http.StatusBadRequest, nil},
		{http.MethodGet, root + "yesterday/http://h.example/x", http.StatusNotFound, nil},
		{http.MethodGet, gate + "http://h.example/x%0d%0aX:y", http.StatusNotFound, nil},
		{http.MethodGet, gate + "file:///etc/passwd", http.StatusNotFound, nil},
		{http.MethodGet, root + "20050607000000/file:///etc/passwd", http.StatusNotFound, nil},
		{http.MethodPost, gate + "http://h.example/x", http.StatusMethodNotAllowed, nil},
		{http.MethodGet, gate + "http://h.example/x", http.StatusBadRequest, []string{"Accept-Datetime", "soon"}},
		{http.MethodGet, gate + "http://h.example/x", http.StatusBadRequest, []string{"Accept-Datetime", "Thursday, 01-May-97 00:00:00 GMT"}},
		{http.MethodGet, strings.Replace(gate, "/timegate/", "x/timegate/", 1) + "urn:x", http.StatusNotFound, nil}, // another secret
	} {
		if p := ask(t, tt.method, tt.url, tt.fields...); p.status != tt.status || p.header.Get("X") != "" || strings.Contains(p.text, "root:") {
			t.Errorf("%s %s: %d %s, want %d", tt.method, tt.url, p.status, p.text, tt.status)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, gate+"http://h.example/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example" // DNS rebinding
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("for another host name: %s", resp.Status)
	}
}

// A captured redirect or failure keeps its status. A 304 is not listed as a capture.
func TestCapturesOfAllStatuses(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n"
	_, gate := startGate(t, archiveOf(t,
		[3]string{"1997-05-01T00:00:00Z", "moved", "HTTP/1.1 301 Moved\r\nLocation: /new#top\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"},
		[3]string{"1997-05-01T00:00:00Z", "away", "HTTP/1.1 307 Away\r\nLocation: http://other.example/\r\nContent-Length: 0\r\n\r\n"},
		[3]string{"1997-05-01T00:00:00Z", "local", "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"},
		[3]string{"1997-05-01T00:00:00Z", "gone", "HTTP/1.1 410 Gone\r\nContent-Type: text/html\r\nSet-Cookie: a=b\r\nContent-Length: 7\r\n\r\n<p>gone"},
		[3]string{"1997-05-01T00:00:00Z", "closed", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"},
		[3]string{"1997-05-01T00:00:00Z", "broken", "HTTP/1.1 500 Error\r\nContent-Length: 0\r\n\r\n"},
		[3]string{"1997-06-01T00:00:00Z", "new", ok + "1997"},
		[3]string{"1998-06-01T00:00:00Z", "new", "HTTP/1.1 304 Not Modified\r\n\r\n"},
		[3]string{"1999-06-01T00:00:00.25Z", "new", ok + "199a"},
		[3]string{"1999-06-01T00:00:00.5Z", "new", ok + "199b"},
		[3]string{"1999-06-01T00:00:00.5Z", "new", ok + "199c"},
		[3]string{"2000-06-01T00:00:00.9Z", "new", ok + "2000"}))
	root := strings.TrimSuffix(gate, "timegate/")
	for path, want := range map[string]struct {
		status         int
		location, text string
	}{
		"19970501000000/http://h.example/moved":   {301, root + "19970501000000/http://h.example/new", ""},
		"19970501000000/http://h.example/away":    {307, "http://other.example/", ""},
		"19970501000000/http://h.example/local":   {403, "", "policy"},
		"19970501000000/http://h.example/gone":    {410, "", "<p>gone"},
		"19970501000000/http://h.example/closed":  {401, "", ""},
		"19970501000000/http://h.example/broken":  {500, "", ""},
		"19970501000000/http://h.example/new":     {302, root + "19970601000000/http://h.example/new", ""},
		"1998/http://h.example/new":               {404, "", ""},
		"19980601000000/http://h.example/new":     {302, root + "19990601000000.5/http://h.example/new", ""},
		"19990601000000/http://h.example/new":     {302, root + "19990601000000.5/http://h.example/new", ""},
		"19990601000000.25/http://h.example/new":  {200, "", "199a"},
		"19990601000000.250/http://h.example/new": {302, root + "19990601000000.25/http://h.example/new", ""},
		"19990601000000.5/http://h.example/new":   {200, "", "199c"},
		"20000601000000/http://h.example/new":     {200, "", "2000"},
	} {
		p := ask(t, http.MethodGet, root+path)
		if p.status != want.status || p.header.Get("Location") != want.location || !strings.Contains(p.text, want.text) || p.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d to %s, %q", path, p.status, p.header.Get("Location"), p.text)
		}
		captured := p.status != 403 && p.status != 404 && (p.status != 302 || strings.Contains(path, "/local"))
		if (p.header.Get("Memento-Datetime") != "") != captured || captured && !strings.Contains(p.header.Get("Link"), `rel="original"`) {
			t.Errorf("%s: %v", path, p.header)
		}
	}
	list := ask(t, http.MethodGet, root+"timemap/http://h.example/new")
	if n := strings.Count(list.text, "memento\""); n != 4 {
		t.Errorf("%d captures in %s, want 4", n, list.text)
	}
}

// The archive of one program is the TimeGate of another.
func TestCapturesOfAnotherServer(t *testing.T) {
	t.Parallel()
	_, gate := startArchive(t)
	at := time.Date(2004, 1, 1, 0, 0, 0, 0, time.UTC)
	own := fetch.New(nil, protocols.All)
	t.Cleanup(func() { own.Close() })
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{memento.Middleware(memento.Options{Client: own, TimeGates: []string{gate},
		At: func(context.Context) time.Time { return at }})}}, protocols.All)
	t.Cleanup(func() { c.Close() })
	resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("http://h.example/x")})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if string(text) != "middle<script>1</script>" || err != nil || resp.Capture == nil || !resp.Capture.Time.Equal(time.Date(2005, 6, 7, 0, 0, 0, 0, time.UTC)) ||
		resp.Capture.Distance() != resp.Capture.Time.Sub(at) || !strings.HasSuffix(resp.Capture.Source, "/20050607000000/http://h.example/x") {
		t.Errorf("got %q, %v, from %+v", text, err, resp.Capture)
	}
}

// A redirect that one program has captured leads another one to the capture of its target.
func TestCapturedRedirectsOfAnotherServer(t *testing.T) {
	t.Parallel()
	_, gate := startGate(t, archiveOf(t,
		[3]string{"1997-05-01T00:00:00Z", "moved", "HTTP/1.1 301 Moved\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n"},
		[3]string{"1997-05-01T00:00:00Z", "lost", "HTTP/1.1 301 Moved\r\nLocation: /nowhere\r\nContent-Length: 0\r\n\r\n"},
		[3]string{"1997-06-01T00:00:00Z", "new", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew"}))
	own := fetch.New(nil, protocols.All)
	t.Cleanup(func() { own.Close() })
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{memento.Middleware(memento.Options{Client: own, TimeGates: []string{gate},
		At: func(context.Context) time.Time { return time.Date(1997, 5, 1, 0, 0, 0, 0, time.UTC) }})}}, protocols.All)
	t.Cleanup(func() { c.Close() })
	if text, err := c.ReadAll(t.Context(), "http://h.example/moved", 100); err != nil || string(text) != "new" {
		t.Errorf("got %s, %v", text, err)
	}
	if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("http://h.example/lost")}); fetch.CodeOf(err) != fetch.ErrNotFound || !strings.Contains(err.Error(), "http://h.example/nowhere") {
		t.Errorf("a captured redirect to what was not captured: %v", err)
	}
}

func TestPagesAsOfADate(t *testing.T) {
	t.Parallel()
	a := captures(t, [2]string{"1997-05-01T12:00:00Z", "<p>old"}, [2]string{"2020-01-01T00:00:00Z", "<p>new"})
	u := start(t, func(opts *serve.Options, common *fetch.Options) {
		opts.Archive, opts.At, common.Middleware = a, time.Date(1998, 1, 1, 0, 0, 0, 0, time.UTC), []fetch.Middleware{serve.Archived(a, replay.Options{Only: true})}
	})
	p := u.open("http://h.example/x")
	p.want(t, http.StatusOK, "Captured on 1997-05-01 12:00:00")
	u.get(p.find(t, "/content")).want(t, http.StatusOK, "old")
}
