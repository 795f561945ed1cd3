package fetchhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
	"github.com/urlget/urlget/fetch/uri"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var stamp = time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)

// things is a driver with a resource of each kind.
func things(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	text := "0123456789"
	resp := &fetch.Response{Meta: fetch.Meta{ContentType: "text/plain", Size: 10, Validator: fetch.Validator{ModTime: stamp, ETag: `"v1"`}}}
	switch req.URL.Path() {
	case "/text", "/query":
		if req.IfChanged.ETag == `"v1"` || req.IfChanged.ModTime.Equal(stamp) {
			if req.Range.IsZero() {
				return nil, fetch.ErrNotModified
			}
		}
		if !req.Range.IsZero() {
			resp.Range, resp.Total = req.Range, 10
			if text = text[req.Range.Offset:]; req.Range.Length > 0 {
				text = text[:min(int64(len(text)), req.Range.Length)]
			}
			resp.Size = int64(len(text))
		}
		if q, ok := req.URL.Query(); ok {
			text, resp.Size = q, int64(len(q))
		}
	case "/moved":
		resp.Location = []uri.URI{uri.MustParse("text")}
	case "/busy":
		return nil, &fetch.Error{Code: fetch.ErrBusy, Reply: fetch.Reply{Code: 421, Text: "later\r\n"}}
	case "/forbidden":
		return nil, fetch.ErrRefused
	case "/range":
		return nil, fetch.ErrRange
	case "/broken":
		return nil, fetch.ErrProtocol
	case "/tofile":
		resp.Location = []uri.URI{uri.MustParse("file:///etc/passwd")}
	case "/cut":
		text = text[:5]
	case "/menu/":
		resp.Kind, resp.Size = fetch.KindListing, -1
		resp.Parse = func(io.Reader) iter.Seq2[fetch.Entry, error] { return menu(req.URL) }
	default:
		return nil, fetch.ErrNotFound
	}
	if req.Op != fetch.OpGet {
		return nil, errors.ErrUnsupported
	}
	resp.Body = io.NopCloser(strings.NewReader(text))
	return resp, nil
}

func menu(base uri.URI) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		_ = yield(fetch.Entry{Name: "<b>one", URL: base.Resolve(uri.MustParse("one%22?a&b"))}, nil) &&
			yield(fetch.Entry{Name: "a session", URL: uri.MustParse("telnet://h/")}, nil) &&
			yield(fetch.Entry{Name: "script", URL: uri.MustParse("javascript:alert(1)")}, nil) &&
			yield(fetch.Entry{Name: "w\u00f6rds\xff", Kind: fetch.EntryText}, nil)
	}
}

func newClient() *fetch.Client {
	return fetch.New(nil, fetch.Use("x-thing", fetch.DriverFunc(things)), func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "file", Local: true, Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(things)})
	})
}

// An exchange holds the compared parts of a response.
type exchange struct {
	status int
	body   string
	header map[string]string
}

var exchanges = []struct {
	name, method, path string
	send               map[string]string
	want               exchange
}{
	{"a document", "GET", "/text", nil, exchange{200, "0123456789", map[string]string{"Content-Type": "text/plain", "Content-Length": "10",
		"Last-Modified": "Mon, 03 Feb 2020 04:05:06 GMT", "ETag": `"v1"`}}},
	{"its head", "HEAD", "/text", nil, exchange{200, "", map[string]string{"Content-Length": "10"}}},
	{"a query", "GET", "/query?a=b%20c", nil, exchange{200, "a=b%20c", nil}},
	{"a part", "GET", "/text", map[string]string{"Range": "bytes=2-4"}, exchange{206, "234", map[string]string{"Content-Range": "bytes 2-4/10", "Content-Length": "3"}}},
	{"the rest", "GET", "/text", map[string]string{"Range": "bytes=7-"}, exchange{206, "789", map[string]string{"Content-Range": "bytes 7-9/10"}}},
	{"parts that are not served", "GET", "/text", map[string]string{"Range": "bytes=1-2,4-5"}, exchange{200, "0123456789", map[string]string{"Content-Range": ""}}},
	{"the last bytes, likewise", "GET", "/text", map[string]string{"Range": "bytes=-2"}, exchange{200, "0123456789", nil}},
	{"a part turned around", "GET", "/text", map[string]string{"Range": "bytes=4-2"}, exchange{200, "0123456789", nil}},
	{"unchanged by tag", "GET", "/text", map[string]string{"If-None-Match": `"v1"`}, exchange{304, "", nil}},
	{"unchanged by time", "GET", "/text", map[string]string{"If-Modified-Since": "Mon, 03 Feb 2020 04:05:06 GMT"}, exchange{304, "", nil}},
	{"changed", "GET", "/text", map[string]string{"If-None-Match": `"v0"`}, exchange{200, "0123456789", nil}},
	{"a tag before the time", "GET", "/text", map[string]string{"If-None-Match": `"v0"`, "If-Modified-Since": "Mon, 03 Feb 2020 04:05:06 GMT"}, exchange{200, "0123456789", nil}},
	{"tags before the time", "GET", "/text", map[string]string{"If-None-Match": `"v0", "v2"`, "If-Modified-Since": "Mon, 03 Feb 2020 04:05:06 GMT"}, exchange{200, "0123456789", nil}},
	{"nothing there", "GET", "/absent", nil, exchange{404, "not found", nil}},
	{"forbidden", "GET", "/forbidden", nil, exchange{403, "refused by server", nil}},
	{"busy", "GET", "/busy", nil, exchange{503, "later", nil}},
	{"no such part", "GET", "/range", nil, exchange{416, "range", nil}},
}

// check compares a response with want. The body of an error response only needs to contain want.body.
func check(t *testing.T, name string, resp *http.Response, want exchange) {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s: reading the body: %v", name, err)
	}
	if ok := string(body) == want.body || want.status >= 400 && strings.Contains(string(body), want.body); !ok && resp.StatusCode != 304 {
		t.Errorf("%s: body %q, want %q", name, body, want.body)
	}
	if resp.StatusCode != want.status {
		t.Errorf("%s: status %s, want %d", name, resp.Status, want.status)
	}
	for k, v := range want.header {
		if got := resp.Header.Get(k); got != v {
			t.Errorf("%s: %s is %q, want %q", name, k, got, v)
		}
	}
}

func TestTransport(t *testing.T) {
	t.Parallel()
	tr := &http.Transport{}
	tr.RegisterProtocol("x-thing", fetchhttp.NewTransport(newClient()))
	c := &http.Client{Transport: tr}
	do := func(method, url string, send map[string]string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range send {
			r.Header.Set(k, v)
		}
		return c.Do(r)
	}
	for _, tt := range exchanges {
		resp, err := do(tt.method, "x-thing://h"+tt.path, tt.send)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		check(t, tt.name, resp, tt.want)
	}
	resp, err := do("GET", "x-thing://h/moved", nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "moved", resp, exchange{200, "0123456789", map[string]string{"Content-Location": "x-thing://h/text"}})
	if _, err := do("GET", "x-thing://h/broken", nil); !errors.Is(err, fetch.ErrProtocol) {
		t.Errorf("a failure that is not the server's word: %v", err)
	}
	if _, err := do("POST", "x-thing://h/text", nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("POST: %v", err)
	}
}

func TestGateway(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(fetchhttp.NewGateway(newClient(), "x-thing", "file"))
	t.Cleanup(s.Close)
	c := s.Client()
	do := func(method, path string, send map[string]string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range send {
			r.Header.Set(k, v)
		}
		return c.Do(r)
	}
	for _, more := range []struct {
		name, path string
		status     int
		body       string
	}{
		{"moved", "/x-thing/h/moved", 200, "0123456789"},
		{"a failure", "/x-thing/h/broken", 502, "protocol violation"},
		{"a scheme that is not served", "/ftp/h/x", 404, "request /SCHEME"},
		{"no scheme", "/", 404, "request /SCHEME"},
		{"a user", "/x-thing/u:p@h/text", 404, "must not contain userinfo"},
		{"a local file", "/file//etc/passwd", 403, "refused by policy"},
		{"a way to a local file", "/x-thing/h/tofile", 403, "refused by policy"},
		{"a private address", "/x-thing/127.0.0.1/text", 403, "refused by policy"},
		{"a reserved port", "/x-thing/h:25/text", 403, "refused by policy"},
		{"no URL", "/x-thing/h:port/", 404, "port"},
	} {
		resp, err := do("GET", more.path, nil)
		if err != nil {
			t.Errorf("%s: %v", more.name, err)
			continue
		}
		check(t, more.name, resp, exchange{more.status, more.body, nil})
	}
	for _, tt := range exchanges {
		resp, err := do(tt.method, "/x-thing/h"+tt.path, tt.send)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		check(t, tt.name, resp, tt.want)
	}
	resp, err := do("GET", "/x-thing/h/cut", nil)
	if err == nil {
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an incomplete transfer reads as %v", err)
	}
	resp, err = do("POST", "/x-thing/h/text", nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "POST", resp, exchange{405, "only GET", map[string]string{"Allow": "GET, HEAD"}})
}

func TestGatewayListings(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	fetchhttp.NewGateway(newClient(), "x-thing").ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/x-thing/h/menu/", nil))
	page := w.Body.String()
	for _, want := range []string{
		`<a href="/x-thing/h/menu/one%22?a&amp;b">&lt;b&gt;one</a>`,
		"<li>a session (telnet://h/)",
		"<li>script (javascript:alert(1))",
		"<li>w&#246;rds&#65533;\n",
		"</ul>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s:\n%s", want, page)
		}
	}
	if got := w.Header().Get("Content-Security-Policy"); got != "sandbox" {
		t.Errorf("Content-Security-Policy is %q", got)
	}
}

// An http.Client can retrieve other schemes. Programs use protocols.All instead of this driver,
// without the schemes they do not want.
func ExampleRegister() {
	c := fetch.New(nil, fetch.Use("x-thing", fetch.DriverFunc(things)))
	defer c.Close()
	t := http.DefaultTransport.(*http.Transport).Clone()
	fetchhttp.Register(t, c)
	client := &http.Client{Transport: t}
	resp, err := client.Get("x-thing://h/text")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"))
	io.Copy(os.Stdout, resp.Body)
	// Output:
	// 200 OK text/plain
	// 0123456789
}

// A client for a single scheme needs no http.Transport.
func ExampleNewTransport() {
	c := fetch.New(nil, fetch.Use("x-thing", fetch.DriverFunc(things)))
	defer c.Close()
	client := &http.Client{Transport: fetchhttp.NewTransport(c)}
	resp, err := client.Get("x-thing://h/absent")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	io.Copy(os.Stdout, resp.Body)
	// Output:
	// 404 Not Found
	// get x-thing://h/absent: not found
}

func ExampleNewGateway() {
	c := fetch.New(nil, fetch.Use("x-thing", fetch.DriverFunc(things)))
	defer c.Close()
	s := httptest.NewServer(fetchhttp.NewGateway(c, "x-thing"))
	defer s.Close()
	resp, err := s.Client().Get(s.URL + "/x-thing/h/text")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(os.Stdout, resp.Body)
	// Output:
	// 0123456789
}
