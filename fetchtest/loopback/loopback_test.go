package loopback

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryServerHasItsDocument(t *testing.T) {
	t.Parallel()
	v := servers.Bind(t, New, Options{})
	c := fetch.New(&fetch.Options{TLS: &tls.Config{RootCAs: v.Roots}}, drivers)
	defer c.Close()
	if len(v.All) != len(Schemes()) {
		t.Errorf("%d servers, want %d", len(v.All), len(Schemes()))
	}
	for _, s := range v.All {
		login := ""
		op := fetch.OpGet
		switch s.Scheme {
		case "imaps", "pops":
			login = "alice:secret@"
		case "telnet":
			op = fetch.OpDial
		}
		resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.Scheme + "://" + login + s.Addr + s.Path), Op: op})
		if err != nil {
			t.Errorf("%s: %v", s.Scheme, err)
			continue
		}
		if op == fetch.OpGet && resp.Kind == fetch.KindObject {
			if n, err := io.Copy(io.Discard, resp.Body); err != nil || n == 0 {
				t.Errorf("%s: %d bytes, %v", s.Scheme, n, err)
			}
		}
		resp.Body.Close()
	}
}

func TestNewStartsSelectedServers(t *testing.T) {
	t.Parallel()
	v := servers.Bind(t, New, Options{Schemes: []string{"gopher"}})
	if len(v.All) != 1 || v.Addr("gopher") == "" || v.Addr("http") != "" {
		t.Errorf("servers %+v", v.All)
	}
	if _, err := New(Options{Schemes: []string{"gopher", "shiny"}}); err == nil {
		t.Error("a server for shiny")
	}
	for _, scheme := range []string{"http", "https", "ftp"} {
		_, err := New(Options{Schemes: []string{scheme}, Listen: func(string) (string, string) { return v.Addr("gopher"), "" }})
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s on a port in use: %v", scheme, err)
		}
	}
}

// TestLies checks the response to a first request and to a second one for the second half.
func TestLies(t *testing.T) {
	t.Parallel()
	half := hostileSize / 2
	tests := map[string]struct {
		status, again   int
		body, second    []byte
		broken, endless bool // the first body
		ifRange         string
		headerNeverCame bool
	}{
		"length":          {status: 200, again: 200, body: first[:half], second: first[:half], broken: true},
		"chunked":         {status: 200, again: 200, body: first[:half], second: first[:half], broken: true},
		"unmarked":        {status: 200, again: 200, body: first[:half], second: first[:half]},
		"digest":          {status: 200, again: 206},
		"breaks-off":      {status: 200, again: 206, body: first[:half], broken: true, second: first[half:]},
		"changed":         {status: 200, again: 200, body: first[:half], broken: true, ifRange: `"1"`, second: second},
		"changed-ignored": {status: 200, again: 206, body: first[:half], broken: true, ifRange: `"1"`, second: second[half:]},
		"changed-unnamed": {status: 200, again: 206, body: first[:half], broken: true, second: second[half:]},
		"offset":          {status: 200, again: 206, body: first[:half], broken: true, second: first},
		"no-ranges":       {status: 200, again: 200, body: first[:half], broken: true, second: first},
		"error-page":      {status: 404, again: 404},
		"to-file":         {status: 302, again: 302},
		"to-itself":       {status: 302, again: 302},
		"dripping-header": {headerNeverCame: true},
		"endless-header":  {headerNeverCame: true},
		"endless":         {status: 200, again: 200, endless: true},
	}
	h := servers.Bind(t, func(listen string) (*HostileServer, error) { return Hostile(listen, nil) }, "")
	client := func(headerTimeout time.Duration) *http.Client {
		return &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10, ResponseHeaderTimeout: headerTimeout},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	patient, impatient := client(5*time.Minute), client(500*time.Millisecond)
	for _, l := range Lies() {
		tt, ok := tests[l.Name]
		if !ok {
			t.Errorf("%s has no test", l.Name)
			continue
		}
		for i, want := range []int{tt.status, tt.again} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/"+l.Name+"/file.bin", nil)
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				req.Header.Set("Range", "bytes=131072-")
				req.Header.Set("If-Range", tt.ifRange)
			}
			c := patient
			if tt.headerNeverCame {
				c = impatient
			}
			resp, err := c.Do(req)
			if tt.headerNeverCame {
				if err == nil {
					resp.Body.Close()
					t.Errorf("%s: a header", l.Name)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", l.Name, err)
				continue
			}
			body, err := io.ReadAll(io.LimitReader(resp.Body, 4*hostileSize))
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s, request %d: status %d, want %d", l.Name, i+1, resp.StatusCode, want)
			}
			wantBody := [][]byte{tt.body, tt.second}[i]
			if wantBody != nil && !bytes.Equal(body, wantBody) || (len(body) == 4*hostileSize) != tt.endless {
				t.Errorf("%s, request %d: %d bytes, %v; want %d", l.Name, i+1, len(body), err, len(wantBody))
			}
			if i == 0 && (err != nil) != tt.broken {
				t.Errorf("%s: %v", l.Name, err)
			}
		}
	}
	resp, err := patient.Get(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(page), "/changed/file.bin") {
		t.Errorf("the page is %q, %v", page, err)
	}
	if !slices.Contains(h.Log(), "GET /changed/file.bin") {
		t.Errorf("log %q", h.Log())
	}
}
