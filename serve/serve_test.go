package serve_test

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A user is a headless browser that has opened the address of the server.
type user struct {
	t      *testing.T
	server *httptest.Server
	serve  *serve.Server
	http   *http.Client
}

// start runs a server whose clients have all drivers. The test may change its options.
func start(t *testing.T, change ...func(*serve.Options, *fetch.Options)) *user {
	t.Helper()
	common := &fetch.Options{Recorder: serve.Recorder()}
	opts := serve.Options{Bookmarks: filepath.Join(t.TempDir(), "bookmarks")}
	for _, f := range change {
		f(&opts, common)
	}
	opts.Client = fetch.New(common, protocols.All)
	foreign := *common
	foreign.Credentials, foreign.Places = nil, opts.Client
	opts.Foreign = fetch.New(&foreign, protocols.All)
	t.Cleanup(func() { opts.Client.Close(); opts.Foreign.Close() })

	server := httptest.NewUnstartedServer(nil)
	opts.Hosts = []string{server.Listener.Addr().String()}
	s := serve.New(opts)
	s.SetDelay(time.Hour) // on any machine, the status code depends on the result
	server.Config.Handler = s
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(func() { s.Close() })
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	u := &user{t, server, s, &http.Client{Jar: jar, Transport: &http.Transport{}}}
	t.Cleanup(u.http.CloseIdleConnections)
	if page := u.get(s.Address(opts.Hosts[0])); page.status != http.StatusOK {
		t.Fatalf("the first page: %d %s", page.status, page.text)
	}
	return u
}

// A page is a response to the browser.
type page struct {
	status int
	header http.Header
	text   string
	url    string
}

func (u *user) do(r *http.Request) page {
	u.t.Helper()
	resp, err := u.http.Do(r)
	if err != nil {
		u.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return page{resp.StatusCode, resp.Header, string(text), resp.Request.URL.String()}
}

func (u *user) request(method, ref string, body io.Reader) *http.Request {
	u.t.Helper()
	if strings.HasPrefix(ref, "/") {
		ref = u.server.URL + ref
	}
	r, err := http.NewRequestWithContext(context.Background(), method, ref, body)
	if err != nil {
		u.t.Fatal(err)
	}
	return r
}

func (u *user) get(ref string) page { u.t.Helper(); return u.do(u.request(http.MethodGet, ref, nil)) }

// post sends a form with the headers of a page of the server.
func (u *user) post(path string, form url.Values) page {
	u.t.Helper()
	r := u.request(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", u.server.URL)
	return u.do(r)
}

// open enters a URL.
func (u *user) open(rawURL string) page {
	u.t.Helper()
	return u.post("/go", url.Values{"url": {rawURL}})
}

var reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)

// find returns the first link of a page that contains all the words.
func (p page) find(t *testing.T, words ...string) string {
	t.Helper()
	for _, m := range reference.FindAllStringSubmatch(p.text, -1) {
		ref := html.UnescapeString(m[1])
		plain, _ := url.QueryUnescape(ref)
		all := true
		for _, w := range words {
			all = all && strings.Contains(plain, w)
		}
		if all {
			return ref
		}
	}
	t.Fatalf("no reference with %q in\n%s", words, p.text)
	return ""
}

// want fails the test if the page does not have the status and all texts.
func (p page) want(t *testing.T, status int, texts ...string) {
	t.Helper()
	if p.status != status {
		t.Errorf("%s: status %d, want %d", p.url, p.status, status)
	}
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			t.Errorf("%s: there is no %q in\n%s", p.url, text, p.text)
		}
	}
}

// without fails the test if the page has one of the texts.
func (p page) without(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(p.text, text) {
			t.Errorf("%s: there is %q in\n%s", p.url, text, p.text)
		}
	}
}

// write creates a file and returns its URL.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

// replace adds schemes to the clients.
func (u *user) replace(load fetch.Loader) {
	u.serve.Client = fetch.New(&fetch.Options{Recorder: serve.Recorder()}, protocols.All, load)
	u.t.Cleanup(func() { u.serve.Client.Close() })
}
