package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
	fetchweb "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/serve"
)

// A proxy that replays an archive answers a request with a body only if the archive has that body.
func TestArchivedRequestBodies(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	record := func(kind, id, block string) {
		fmt.Fprintf(&file, "WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:%s>\r\nWARC-Concurrent-To: <urn:response-%s>\r\nWARC-Target-URI: http://api.example/q\r\n"+
			"WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: application/http; msgtype=%s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
			kind, kind+"-"+id, id, kind, len(block), block)
	}
	for _, q := range []string{"1", "2"} {
		record("response", q, "HTTP/1.1 200 OK\r\nDate: Wed, 31 Dec 2025 23:59:59 GMT\r\nContent-Length: 8\r\n\r\nanswer "+q)
		record("request", q, "POST /q HTTP/1.1\r\nContent-Length: 1\r\n\r\n"+q)
	}
	name := filepath.Join(t.TempDir(), "a.warc")
	if err := os.WriteFile(name, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := replay.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	client := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{serve.Archived(a, replay.Options{Only: true})}, NoProxy: "*",
		Policy: &fetch.Policy{AllowPrivate: true}}, fetchweb.Load)
	defer client.Close()
	proxy := httptest.NewServer(&fetchhttp.Proxy{Client: client})
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{Proxy: http.ProxyURL(address)}
	defer tr.CloseIdleConnections()
	for _, tt := range []struct {
		method, body, want string
		status             int
	}{
		{"POST", "1", "answer 1", 200},
		{"POST", "2", "answer 2", 200},
		{"POST", "3", "not in the archive with this body", 404},
		{"POST", "", "not in the archive without a body", 404},
		{"GET", "", "not in the archive with GET, only with POST", 404},
		{"PUT", "1", "not in the archive with PUT, only with POST", 404},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://api.example/q", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(r)
		if err != nil {
			t.Errorf("%s %.10q: %v", tt.method, tt.body, err)
			continue
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || !strings.Contains(string(got), tt.want) {
			t.Errorf("%s %.10q: %s, %q, %v; want %d, %q", tt.method, tt.body, resp.Status, got, err, tt.status, tt.want)
		}
		h := resp.Header
		if resp.StatusCode == 200 && (h.Get("Memento-Datetime") != "Thu, 01 Jan 2026 00:00:00 GMT" || h.Get("Date") != "Wed, 31 Dec 2025 23:59:59 GMT") {
			t.Errorf("%s %.10q: the header is %v", tt.method, tt.body, h)
		}
	}
}
