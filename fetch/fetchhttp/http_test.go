package fetchhttp_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

// web is a handler whose response depends on the request path.
func web(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-From", "web")
	switch r.URL.Path {
	case "/gone":
		h.Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusGone)
		io.WriteString(w, "<p>long ago")
	case "/teapot":
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, "short and stout")
	case "/login":
		h.Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	case "/down":
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, "broken")
	case "/long":
		h.Set("Content-Length", "70000")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, strings.Repeat("x", 70000))
	case "/longer":
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, strings.Repeat("x", 70000))
	case "/cookie":
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		w.WriteHeader(http.StatusAccepted)
	case "/moved":
		http.Redirect(w, r, "/cookie", http.StatusFound)
	case "/nowhere":
		w.WriteHeader(http.StatusFound)
	case "/coded":
		h.Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "plain")
		z.Close()
	case "/file":
		http.ServeContent(w, r, "file.txt", stamp, strings.NewReader("0123456789"))
	case "/echo":
		io.WriteString(w, r.Host+" "+r.Header.Get("X-Note")+" "+r.Header.Get("User-Agent")+" "+r.Header.Get("Accept")+
			" "+r.Header.Get("Upgrade"))
	case "/unchanged":
		w.WriteHeader(http.StatusNotModified)
	}
}

// For http and https, the transport of a fetch.Client behaves like that of net/http.
func TestHTTPIsPassedThrough(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(web))
	t.Cleanup(s.Close)
	c := fetch.New(&fetch.Options{Proxy: noProxy, MaxErrorBody: 64 << 10}, httpdriver.With(httpdriver.Options{Compressed: true}))
	t.Cleanup(func() { c.Close() })
	client := &http.Client{Transport: fetchhttp.NewTransport(c)}
	host := strings.TrimPrefix(s.URL, "http://")
	for _, tt := range []struct {
		method, path string
		send         http.Header
		status       string
		body         string
		size         int64
		header       map[string]string
		err          error // of reading the body
	}{
		{"GET", "/gone", nil, "410 Gone", "<p>long ago", 11, map[string]string{"Content-Type": "text/html", "X-From": "web"}, nil},
		{"HEAD", "/gone", nil, "410 Gone", "", 11, map[string]string{"Content-Length": "11"}, nil},
		{"GET", "/teapot", nil, "418 I'm a teapot", "short and stout", 15, nil, nil},
		{"GET", "/login", nil, "401 Unauthorized", "", 0, map[string]string{"WWW-Authenticate": `Basic realm="x"`}, nil},
		{"GET", "/down", nil, "500 Internal Server Error", "broken", 6, nil, nil},
		{"GET", "/long", nil, "404 Not Found", strings.Repeat("x", 64<<10), 70000, nil, io.ErrUnexpectedEOF},
		{"GET", "/longer", nil, "404 Not Found", strings.Repeat("x", 64<<10), -1, nil, io.ErrUnexpectedEOF},
		{"GET", "/cookie", nil, "202 Accepted", "", 0, map[string]string{"Set-Cookie": "a=b"}, nil},
		{"GET", "/moved", nil, "202 Accepted", "", 0, map[string]string{"Set-Cookie": "", "Content-Location": s.URL + "/cookie"}, nil},
		{"GET", "/coded", nil, "200 OK", "plain", -1, map[string]string{"Content-Encoding": "", "Content-Length": ""}, nil},
		{"GET", "/echo", http.Header{"X-Note": {"n"}, "User-Agent": {"me"}, "Accept": {"text/plain"}, "Upgrade": {"h2c"}, "Connection": {"upgrade"}},
			"200 OK", host + " n me text/plain ", -2, nil, nil},
		{"GET", "/file", http.Header{"Range": {"bytes=2-4"}}, "206 Partial Content", "234", 3, map[string]string{"Content-Range": "bytes 2-4/10"}, nil},
		{"GET", "/file", http.Header{"Range": {"bytes=-3"}}, "206 Partial Content", "789", 3, map[string]string{"Content-Range": "bytes 7-9/10"}, nil},
		{"GET", "/file", http.Header{"Range": {"bytes=9-2"}}, "200 OK", "0123456789", 10, map[string]string{"Content-Range": ""}, nil},
		{"GET", "/file", http.Header{"Range": {"bytes=20-"}}, "416 Requested Range Not Satisfiable", "invalid range: failed to overlap\n", -2,
			map[string]string{"Content-Range": "bytes */10"}, nil},
		{"GET", "/unchanged", http.Header{"If-None-Match": {`"v1"`}}, "304 Not Modified", "", 0, nil, nil},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.send != nil {
			r.Header = tt.send
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Errorf("%s %s: %v", tt.method, tt.path, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != tt.body || !errors.Is(err, tt.err) {
			t.Errorf("%s: body %.80q, %v; want %.80q, %v", tt.path, body, err, tt.body, tt.err)
		}
		if resp.Status != tt.status || tt.size != -2 && resp.ContentLength != tt.size {
			t.Errorf("%s: %s with %d bytes, want %s with %d", tt.path, resp.Status, resp.ContentLength, tt.status, tt.size)
		}
		for k, v := range tt.header {
			if got := resp.Header.Get(k); got != v {
				t.Errorf("%s: %s is %q, want %q", tt.path, k, got, v)
			}
		}
		if want := strings.Replace(tt.path, "/moved", "/cookie", 1); resp.Request.URL.Path != want {
			t.Errorf("%s: the response is to a request for %s", tt.path, resp.Request.URL)
		}
	}
	r, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/echo", nil)
	r.Host = "other.example"
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !strings.HasPrefix(string(body), "other.example ") {
		t.Errorf("Request.Host was not sent: %s", body)
	}
	r, _ = http.NewRequestWithContext(t.Context(), "GET", s.URL+"/file", nil)
	r.Header.Set("Range", "bytes=1-2, -1")
	if resp, err = client.Do(r); err != nil {
		t.Fatal(err)
	}
	body, err = io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 206 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "multipart/byteranges") || err != nil ||
		!strings.Contains(string(body), "bytes 1-2/10\r\n") || !strings.Contains(string(body), "bytes 9-9/10\r\n") {
		t.Errorf("several ranges: %s, %v, %v: %s", resp.Status, resp.Header, err, body)
	}
	if resp, err := client.Get(s.URL + "/nowhere"); !errors.Is(err, fetch.ErrRedirect) {
		t.Errorf("a redirect to nowhere: %v, %v", resp, err)
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	rt := fetchhttp.NewTransport(newClient())
	for _, tt := range []struct {
		method, body string
		header       http.Header
		want         string
	}{
		{"POST", "", nil, "fetchhttp: POST x-thing://u:xxxxx@h/text: only GET and HEAD are supported: unsupported operation"},
		{"GET", "words", nil, "fetchhttp: GET x-thing://u:xxxxx@h/text: request bodies are not supported: unsupported operation"},
		{"GET", "", http.Header{"If-Match": {"*"}}, "fetchhttp: GET x-thing://u:xxxxx@h/text: If-Match: unsupported operation"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, "x-thing://u:p@h/text", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.header != nil {
			r.Header = tt.header
		}
		resp, err := rt.RoundTrip(r)
		if err == nil {
			resp.Body.Close()
		}
		if !errors.Is(err, errors.ErrUnsupported) || err.Error() != tt.want {
			t.Errorf("%s: error %v, want %s", tt.method, err, tt.want)
		}
	}
}

// Fields have the same meaning for every scheme. Other fields are passed to drivers unchanged.
func TestRequestFields(t *testing.T) {
	t.Parallel()
	var got *fetch.Request
	c := fetch.New(nil, fetch.Use("x-thing", fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		got = req
		return &fetch.Response{Body: fetch.NoBody}, nil
	})))
	r, err := http.NewRequestWithContext(t.Context(), "GET", "x-thing://h/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Accept": {"text/html;q=0.5, text/plain, bad/", "image/png;q=0, text/*;q=0.9, */*;q=x"}, "Accept-Language": {"de"},
		"Connection": {"X-Hop"}, "X-Hop": {"1"}, "Host": {"other"}, "Range": {"bytes=3-7"}, "If-Range": {`"v1"`}}
	resp, err := fetchhttp.NewTransport(c).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if want := []string{"text/plain", "text/*", "text/html"}; !slices.Equal(got.Accept, want) {
		t.Errorf("Accept is %q, want %q", got.Accept, want)
	}
	if len(got.Header) != 2 || got.Header.Get("Accept-Language") != "de" || got.Header.Get("Accept") == "" {
		t.Errorf("the driver got %v", got.Header)
	}
	if want := (fetch.Range{Offset: 3, Length: 5}); got.Range != want || got.IfChanged.ETag != `"v1"` {
		t.Errorf("range %v if %v", got.Range, got.IfChanged)
	}
	if len(r.Header.Values("Accept")) != 2 || r.Header.Get("X-Hop") != "1" {
		t.Error("the request was changed")
	}
}

func TestRegisterSkipsHTTP(t *testing.T) {
	t.Parallel()
	load := func(_ fetch.Env, reg *fetch.Registry) {
		for _, name := range []string{"http", "https", "x-thing", "x-other"} {
			reg.Register(fetch.Scheme{Name: name, Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(things)})
		}
	}
	get := func(tr *http.Transport, url string) error {
		resp, err := (&http.Client{Transport: tr}).Get(url)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	all := &http.Transport{}
	fetchhttp.Register(all, fetch.New(nil, load))
	for _, url := range []string{"x-thing://h/text", "x-other://h/text"} {
		if err := get(all, url); err != nil {
			t.Error(err)
		}
	}
	if err := get(all, "http://127.0.0.1:1/text"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("http goes to the fetch.Client: %v", err)
	}
	named := &http.Transport{}
	fetchhttp.Register(named, fetch.New(nil, load), "http", "x-thing")
	if err := get(named, "http://h/text"); err != nil {
		t.Error(err)
	}
	if err := get(named, "x-other://h/text"); !strings.Contains(fmt.Sprint(err), "unsupported protocol scheme") {
		t.Errorf("a scheme that was not named: %v", err)
	}
}

// A gateway passes on the error responses of HTTP servers, except for fields that would affect the
// gateway itself.
func TestGatewayPassesOnErrorResponses(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(web))
	t.Cleanup(s.Close)
	c := fetch.New(&fetch.Options{Proxy: noProxy, Policy: &fetch.Policy{AllowPrivate: true}}, httpdriver.Load)
	t.Cleanup(func() { c.Close() })
	gateway := fetchhttp.NewGateway(c, "http")
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/gone":   {410, "<p>long ago"},
		"/teapot": {418, "short and stout"},
		"/login":  {403, ""},
		"/cookie": {202, ""},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/http/"+strings.TrimPrefix(s.URL, "http://")+path, nil)
		gateway.ServeHTTP(w, r)
		if w.Code != want.status || w.Body.String() != want.body {
			t.Errorf("%s: status %d, body %q; want %d, %q", path, w.Code, w.Body, want.status, want.body)
		}
		h := w.Result().Header
		if h.Get("Content-Security-Policy") != "sandbox" || h.Get("Set-Cookie")+h.Get("X-From")+h.Get("WWW-Authenticate") != "" {
			t.Errorf("%s: fields %v", path, h)
		}
	}
}
