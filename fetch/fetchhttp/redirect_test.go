package fetchhttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/protocols/file"
	"github.com/urlget/urlget/protocols/gopher"
)

// An http.Client follows redirects itself. The stricter rules for URLs from remote parties must still
// apply.
func TestRedirectsOfHTTPClientsAreOfRemoteProvenance(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	private := gopherd.Start(t, gopherd.Options{Tree: fstest.MapFS{"about.txt": {Data: []byte("private")}}})
	places := map[string]string{
		"/file":    uri.Must(uri.File{Path: filepath.ToSlash(secret)}.URI()).String(),
		"/private": private.URL + "/0/about.txt",
		"/port":    "gopher://other.example:25/0/x",
		"/twice":   "/file",
	}
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, places[r.URL.Path], http.StatusFound)
	}))
	t.Cleanup(public.Close)
	c := fetch.New(&fetch.Options{Proxy: noProxy}, file.Load, gopher.Load)
	t.Cleanup(func() { c.Close() })
	tr := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, public.Listener.Addr().String())
	}}
	t.Cleanup(tr.CloseIdleConnections)
	fetchhttp.Register(tr, c)
	client := &http.Client{Transport: tr}
	for path, to := range places {
		resp, err := client.Get("http://public.example" + path)
		if err == nil {
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			t.Errorf("the way to %s is open: %s, %q", to, resp.Status, body)
			continue
		}
		if !errors.Is(err, fetch.ErrPolicy) {
			t.Errorf("%s: error %v, want one matching fetch.ErrPolicy", path, err)
		}
	}
	if log := private.Log(); len(log) > 0 {
		t.Errorf("the private server was asked: %q", log)
	}
	// The user may request it.
	for _, rawURL := range []string{places["/file"], places["/private"]} {
		resp, err := client.Get(rawURL)
		if err != nil {
			t.Error(err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", rawURL, resp.Status)
		}
	}
}

// A redirect from a response without a request still has remote provenance.
func TestUnknownRedirectIsOfRemoteProvenance(t *testing.T) {
	t.Parallel()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "file:///etc/hostname", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Response = &http.Response{StatusCode: http.StatusFound}
	resp, err := fetchhttp.NewTransport(newClient()).RoundTrip(r)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, fetch.ErrPolicy) {
		t.Errorf("error %v, want one matching fetch.ErrPolicy", err)
	}
}

// Credentials for one server are not sent to another.
func TestRedirectsDropSecrets(t *testing.T) {
	t.Parallel()
	var got *fetch.Request
	c := fetch.New(nil, fetch.Use("x-thing", fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		got = req
		return things(ctx, req)
	})))
	for _, tt := range []struct {
		from string
		kept bool
	}{
		{"", true},
		{"x-thing://h/moved", true},
		{"http://h/moved", false},
		{"x-thing://other/moved", false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "x-thing://h/text", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Basic c2VjcmV0"}, "Cookie": {"a=b"}, "X-Note": {"n"}}
		if tt.from != "" {
			before, err := http.NewRequestWithContext(t.Context(), "GET", tt.from, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Response = &http.Response{StatusCode: http.StatusFound, Request: before}
		}
		resp, err := fetchhttp.NewTransport(c).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		_, login := got.Header["Authorization"]
		_, cookie := got.Header["Cookie"]
		if login != tt.kept || cookie != tt.kept || got.Header.Get("X-Note") != "n" {
			t.Errorf("from %q: fields %v", tt.from, got.Header)
		}
		if got.From.String() != tt.from {
			t.Errorf("From is %q, want %q", got.From, tt.from)
		}
	}
}

func noProxy(uri.URI) (uri.URI, error) { return uri.URI{}, nil }
