package http_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// A claimedConn reports another address of its peer.
type claimedConn struct {
	net.Conn
	peer net.Addr
}

func (c claimedConn) RemoteAddr() net.Addr { return c.peer }

// TestPrivateServerOnPublicHost uses a host with a public web server and, on another port, a private one,
// as the operator of a name server can arrange. The user's own request to the private server does not
// make it accessible from the public page, with new or reused connections.
func TestPrivateServerOnPublicHost(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"", "http/1.1", "h2"} {
		t.Run("over "+proto, func(t *testing.T) {
			t.Parallel()
			scheme, publicPort, privatePort := "http", "80", "8000"
			if proto != "" {
				scheme, publicPort, privatePort = "https", "443", "8443"
			}
			const host = "example.com" // of the test servers' certificate
			inner := scheme + "://" + host + ":" + privatePort + "/"
			public := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/lead" {
					w.Header().Set("Location", inner)
					w.WriteHeader(http.StatusFound)
				}
			}), proto)
			private := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "secret")
			}), proto)
			servers := map[string]string{"192.0.2.1:" + publicPort: public.Listener.Addr().String(),
				"127.0.0.1:" + privatePort: private.Listener.Addr().String()}
			o := &fetch.Options{
				Proxy: func(uri.URI) (uri.URI, error) { return uri.URI{}, nil },
				TLS:   trust(public),
				Network: fetch.Network{Hosts: map[string]netip.Addr{
					host + ":" + publicPort:  netip.MustParseAddr("192.0.2.1"),
					host + ":" + privatePort: netip.MustParseAddr("127.0.0.1"),
				}},
				DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, servers[addr])
					if err != nil {
						return nil, err
					}
					return claimedConn{conn, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))}, nil
				},
			}
			if o.TLS != nil {
				o.TLS.RootCAs.AddCert(private.Certificate())
			}
			c := newClient(t, o, urlhttp.Options{})
			page := scheme + "://" + host + "/"
			for _, u := range []string{page, inner, page} { // the third request reuses the first connection
				drive.MustGet(t, c, u)
			}
			drive.Fails(t, c, page+"lead", fetch.ErrPolicy) // the link is on the public page
			// The same applies to links that the caller found on the page.
			req := &fetch.Request{URL: uri.MustParse(inner), From: uri.MustParse(page)}
			if body, _, err := drive.Do(t, c, req); fetch.CodeOf(err) != fetch.ErrPolicy {
				t.Errorf("a link on the public page led to %q, %v", body, err)
			}
			req.From = uri.MustParse(inner + "x")
			if body, _, err := drive.Do(t, c, req); err != nil || body != "secret" {
				t.Errorf("a link on the private page: %q, %v", body, err)
			}
		})
	}
}

// TestLoginsAreNotUsedForForeignLinks follows a link from another origin to a server with a cached login.
// The client must not use the login for the link or for redirects within the server.
func TestLoginsAreNotUsedForForeignLinks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	protected := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.URL.Path+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		switch {
		case r.URL.Path == "/hop":
			http.Redirect(w, r, "/vault", http.StatusFound)
		case r.Header.Get("Authorization") != goodBasic:
			w.Header().Set("WWW-Authenticate", `Basic realm="vault"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	attacker := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", protected+r.URL.Path)
		w.WriteHeader(http.StatusFound)
	})
	// Credentials as netrc provides them.
	own := fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		if ch.Attempt > 1 || !ch.From.IsZero() && ch.From.Origin() != ch.URL.Origin() {
			return fetch.Credential{}, fetch.ErrAuth
		}
		return fetch.Credential{User: "me", Password: "pa:ss"}, nil
	})
	c := newClient(t, &fetch.Options{Credentials: own}, urlhttp.Options{})
	for _, u := range []string{protected + "/vault", protected + "/hop", protected + "/vault"} {
		drive.MustGet(t, c, u)
	}
	mu.Lock()
	if last := seen[len(seen)-1]; last != "/vault "+goodBasic {
		t.Errorf("the login was not remembered: %q", last)
	}
	seen = nil
	mu.Unlock()
	for _, path := range []string{"/vault", "/hop"} {
		drive.Fails(t, c, attacker+path, fetch.ErrAuth)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, s := range seen {
		if strings.Contains(s, "Basic") {
			t.Errorf("the login went to %s", s)
		}
	}
}

// TestHostFieldAfterRedirect sends a Host field with an inner host and is redirected to
// another origin.
func TestHostFieldAfterRedirect(t *testing.T) {
	t.Parallel()
	var got []string
	second := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Host) })
	first := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Host)
		http.Redirect(w, r, second, http.StatusFound)
	})
	req := &fetch.Request{URL: uri.MustParse(first), Header: textproto.MIMEHeader{"Host": {"inner.example"}}}
	if _, _, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), req); err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimPrefix(second, "http://"); len(got) != 2 || got[0] != "inner.example" || got[1] != want {
		t.Errorf("Host was %q, want inner.example and then %s", got, want)
	}
}
