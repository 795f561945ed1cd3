package http_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/http/hsts"
)

// A hstsSite is example.com with both schemes on their usual ports.
type hstsSite struct {
	opts *fetch.Options

	mu  sync.Mutex
	log []string // "dialled port METHOD path login"
}

func startHSTS(t *testing.T, proto, field string) *hstsSite {
	s := &hstsSite{}
	note := func(kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			user, _, _ := r.BasicAuth()
			s.mu.Lock()
			s.log = append(s.log, strings.TrimSpace(kind+" "+r.Host+" "+r.Method+" "+r.URL.Path+" "+user))
			s.mu.Unlock()
			if field != "" {
				w.Header().Set("Strict-Transport-Security", field)
			}
			switch {
			case r.URL.Path == "/login" && user == "":
				w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
				w.WriteHeader(http.StatusUnauthorized)
			case r.URL.Path == "/back":
				http.Redirect(w, r, "http://example.com/login", http.StatusTemporaryRedirect)
			}
		}
	}
	secure, plain := newServer(t, note("tls"), proto), serve(t, note("plain"))
	s.opts = &fetch.Options{TLS: trust(secure),
		Proxy: func(uri.URI) (uri.URI, error) { return uri.URI{}, nil },
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			to := secure.Listener.Addr().String()
			if strings.HasSuffix(addr, ":80") {
				to = strings.TrimPrefix(plain, "http://")
			}
			return new(net.Dialer).DialContext(ctx, network, to)
		}}
	return s
}

func TestUpgrades(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"http/1.1", "h2"} {
		s := startHSTS(t, proto, "max-age=600; includeSubDomains")
		store := &hsts.Store{}
		c := newClient(t, s.opts, urlhttp.Options{HSTS: store})
		for _, u := range []string{"http://example.com/first", "https://example.com/", "http://EXAMPLE.com:80/a|b?q#f",
			"http://example.com:8443/port", "http://me:x@example.com/login", "https://me:x@example.com/back"} {
			if _, err := drive.Get(t, c, u); err != nil {
				t.Errorf("%s: %v", u, err)
			}
		}
		want := []string{"plain example.com GET /first", "tls example.com GET /", "tls example.com GET /a|b",
			"tls example.com:8443 GET /port", "tls example.com GET /login", "tls example.com GET /login me",
			"tls example.com GET /back me", "tls example.com GET /login me"}
		if !slices.Equal(s.log, want) {
			t.Errorf("%s: requests\n%s\nwant\n%s", proto, strings.Join(s.log, "\n"), strings.Join(want, "\n"))
		}
		resp, err := c.Get(t.Context(), "http://example.com/a#f")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.URL.String() != "https://example.com/a#f" || len(resp.Via) != 1 || resp.Via[0].String() != "http://example.com/a#f" {
			t.Errorf("URL %v, via %v", resp.URL, resp.Via)
		}
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse("http://example.com/a")})
		if err != nil || x.Upgraded.String() != "https://example.com/a" || x.Address != "example.com:443" {
			t.Errorf("explained as %v at %s, %v", x.Upgraded, x.Address, err)
		}
		s.opts.NoRedirects = true
		if _, err := drive.Get(t, newClient(t, s.opts, urlhttp.Options{HSTS: store}), "http://example.com/a"); err != nil {
			t.Errorf("without redirects: %v", err)
		}
	}
}

// Nobody but the host itself, with a verified certificate, and a client with a store upgrade URLs.
func TestNoUpgrades(t *testing.T) {
	t.Parallel()
	const all = "max-age=600; includeSubDomains"
	for name, tt := range map[string]struct {
		field, first string
		change       func(*fetch.Options, *urlhttp.Options)
	}{
		"plaintext":     {all, "http://example.com/", nil},
		"no field":      {"", "https://example.com/", nil},
		"malformed":     {"max-age=600, max-age=0", "https://example.com/", nil},
		"max-age 0":     {"max-age=0", "https://example.com/", nil},
		"an address":    {all, "https://127.0.0.1/", nil},
		"another host":  {all, "https://sub.example.com/", func(o *fetch.Options, _ *urlhttp.Options) { o.TLS.ServerName = "example.com" }},
		"not verified":  {all, "https://example.com/", func(o *fetch.Options, _ *urlhttp.Options) { o.TLS = &tls.Config{InsecureSkipVerify: true} }},
		"without store": {all, "https://example.com/", func(_ *fetch.Options, o *urlhttp.Options) { o.HSTS = nil }},
		"a gateway": {all, "https://example.com/", func(o *fetch.Options, _ *urlhttp.Options) {
			o.Gateways = map[string]string{"http": "http://127.0.0.1:80/{}"}
		}},
	} {
		s := startHSTS(t, "http/1.1", tt.field)
		opts := urlhttp.Options{HSTS: &hsts.Store{}}
		if tt.change != nil {
			tt.change(s.opts, &opts)
		}
		c := newClient(t, s.opts, opts)
		for _, u := range []string{tt.first, "http://example.com/then"} {
			if _, err := drive.Get(t, c, u); err != nil {
				t.Errorf("%s: %s: %v", name, u, err)
			}
		}
		if last := s.log[len(s.log)-1]; !strings.HasPrefix(last, "plain ") {
			t.Errorf("%s: %s", name, last)
		}
	}
}
