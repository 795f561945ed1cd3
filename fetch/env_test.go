package fetch_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

func TestIdentityAndTimeoutsHaveDefaults(t *testing.T) {
	t.Parallel()
	withEnv(t, nil, "x-env:", func(ctx context.Context, env fetch.Env, _ *fetch.Request) {
		if got := env.Identity(); got != (fetch.Identity{UserAgent: "urlget", Email: "urlget@"}) {
			t.Errorf("Identity %+v", got)
		}
		if got := env.Timeouts(); got != (fetch.Timeouts{Connect: 30 * time.Second, Reply: time.Minute, Idle: time.Minute}) {
			t.Errorf("Timeouts %+v", got)
		}
		if env.Logger() == nil || driver.Line(ctx) != nil {
			t.Error("the logger should not be nil, and the trace should")
		}
		if cfg := env.TLSConfig(ctx, "h.example"); cfg.ServerName != "h.example" || cfg.MinVersion != tls.VersionTLS12 {
			t.Errorf("TLSConfig for %q from version %x", cfg.ServerName, cfg.MinVersion)
		}
	})
	o := &fetch.Options{Timeouts: fetch.Timeouts{Connect: -1, Reply: time.Second}, TLS: &tls.Config{ServerName: "other.example"}}
	withEnv(t, o, "x-env:", func(ctx context.Context, env fetch.Env, _ *fetch.Request) {
		if got := env.Timeouts(); got != (fetch.Timeouts{Reply: time.Second, Idle: time.Minute}) {
			t.Errorf("Timeouts %+v", got)
		}
		if cfg := env.TLSConfig(ctx, "h.example"); cfg.ServerName != "other.example" || cfg == o.TLS {
			t.Error("TLSConfig is not a copy of the caller's")
		}
	})
}

func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &fetch.Options{
			Proxy:    noProxy,
			Timeouts: fetch.Timeouts{Connect: 3 * time.Second},
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}
		start := time.Now()
		_, err := fetch.New(o, loadLine).Get(t.Context(), "x-line://h/")
		var e *fetch.Error
		if !errors.As(err, &e) || e.Code != fetch.ErrNetwork || !e.Retry || time.Since(start) != 3*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

func TestIdleTimeoutOfDialedConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		o := &fetch.Options{
			Proxy:       noProxy,
			Timeouts:    fetch.Timeouts{Idle: 5 * time.Second},
			DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil },
		}
		go io.Copy(io.Discard, far)
		resp, err := fetch.New(o, loadLine).Get(t.Context(), "x-line://h/")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		start := time.Now()
		if _, err := io.ReadAll(resp.Body); fetch.CodeOf(err) != fetch.ErrNetwork || time.Since(start) != 5*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

func TestBindEndsBlockedReads(t *testing.T) {
	t.Parallel()
	addr := listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	withEnv(t, &fetch.Options{Proxy: noProxy}, "x-env://h/", func(ctx context.Context, env fetch.Env, _ *fetch.Request) {
		conn, err := env.Dial(ctx, "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if release := conn.Bind(ctx); !release() {
			t.Error("a connection that was bound and released is said to be spoiled")
		}
		why := errors.New("enough")
		bound, cancel := context.WithCancelCause(ctx)
		release := conn.Bind(bound)
		go cancel(why)
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, why) {
			t.Errorf("a blocked read ended with %v, want the cause of the context", err)
		}
		if release() {
			t.Error("a connection whose context ended is said to be good")
		}
	})
}

func TestPeers(t *testing.T) {
	t.Parallel()
	addr := listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	port := netip.MustParseAddrPort(addr).Port()
	withEnv(t, &fetch.Options{Proxy: noProxy}, "x-env://h/", func(ctx context.Context, env fetch.Env, _ *fetch.Request) {
		control, err := env.Dial(ctx, "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer control.Close()
		data, err := env.DialPeer(ctx, control, port)
		if err != nil {
			t.Fatalf("DialPeer: %v", err)
		}
		data.Close()
		if _, err := env.DialPeer(ctx, control, 25); fetch.CodeOf(err) != fetch.ErrPolicy {
			t.Errorf("DialPeer to a reserved port: %v", err)
		}

		l, err := env.ListenPeer(ctx, control)
		if err != nil {
			t.Fatalf("ListenPeer: %v", err)
		}
		defer l.Close()
		stranger, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}).Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer stranger.Close()
		friend, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer friend.Close()
		got, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer got.Close()
		if got.RemoteAddr().String() != friend.LocalAddr().String() {
			t.Errorf("accepted %s, want %s", got.RemoteAddr(), friend.LocalAddr())
		}
		if _, err := stranger.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("another host was not turned away: %v", err)
		}
	})
}

func TestLocalAddressAndPort(t *testing.T) {
	t.Parallel()
	peers := make(chan string, 2)
	addr := listen(t, func(c net.Conn) { peers <- c.RemoteAddr().String() })
	free, err := net.Listen("tcp", "127.0.0.8:0")
	if err != nil {
		t.Fatal(err)
	}
	port := netip.MustParseAddrPort(free.Addr().String()).Port()
	free.Close()
	o := &fetch.Options{Proxy: noProxy, Network: fetch.Network{Local: netip.MustParseAddr("127.0.0.8")}}
	withEnv(t, o, "x-env://h/", func(ctx context.Context, env fetch.Env, _ *fetch.Request) {
		for _, from := range []uint16{0, port} {
			conn, err := env.DialFrom(ctx, "tcp", addr, from)
			if err != nil {
				t.Fatal(err)
			}
			got := netip.MustParseAddrPort(<-peers)
			conn.Close()
			if got.Addr().String() != "127.0.0.8" || from != 0 && got.Port() != from {
				t.Errorf("the connection from port %d came from %s", from, got)
			}
		}
	})
}

func TestAddressFamily(t *testing.T) {
	t.Parallel()
	var networks []string
	no := errors.New("no")
	for _, family := range []int{0, 4, 6} {
		o := &fetch.Options{Proxy: noProxy, Network: fetch.Network{Family: family},
			DialContext: func(_ context.Context, network, _ string) (net.Conn, error) {
				networks = append(networks, network)
				return nil, no
			}}
		if _, err := fetch.New(o, loadLine).Get(t.Context(), "x-line://h/"); !errors.Is(err, no) {
			t.Errorf("error %v, want the dialer's", err)
		}
	}
	if !slices.Equal(networks, []string{"tcp", "tcp4", "tcp6"}) {
		t.Errorf("dialed %q", networks)
	}
}

// Requests subject to different rules must not share connections.
func TestScope(t *testing.T) {
	t.Parallel()
	scopes := map[string]string{}
	record := func(name string, o *fetch.Options, from string) {
		c := fetch.New(o, func(env fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "x", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
				func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
					scopes[name] = env.Scope(ctx)
					return nil, fetch.ErrNotFound
				})})
		})
		req := &fetch.Request{URL: uri.MustParse("x://h/")}
		if from != "" {
			req.From = uri.MustParse(from)
		}
		c.Do(t.Context(), req)
	}
	record("user", &fetch.Options{Proxy: noProxy}, "")
	record("private", &fetch.Options{Proxy: noProxy}, "http://10.0.0.1/")
	record("public", &fetch.Options{Proxy: noProxy}, "http://192.0.2.1/")
	record("trusting", &fetch.Options{Proxy: noProxy, Policy: &fetch.Policy{AllowPrivate: true}}, "http://192.0.2.1/")
	record("proxy", &fetch.Options{Proxy: useProxy("socks5://u:secret@p/")}, "")
	record("untrusted", &fetch.Options{Proxy: noProxy, Policy: &fetch.Policy{Untrusted: true, AllowPrivate: true}}, "")
	record("untrusted, same origin", &fetch.Options{Proxy: noProxy, Policy: &fetch.Policy{Untrusted: true, AllowPrivate: true}}, "x://h/other")
	record("same origin", &fetch.Options{Proxy: noProxy, Policy: &fetch.Policy{AllowPrivate: true}}, "x://h/other")
	if scopes["user"] != scopes["same origin"] || scopes["private"] != scopes["trusting"] {
		t.Errorf("scopes of equal rules differ: %q", scopes)
	}
	for _, other := range []string{"private", "public", "proxy", "untrusted", "untrusted, same origin"} {
		if scopes["user"] == scopes[other] {
			t.Errorf("the scope of %s is that of the user", other)
		}
	}
	if scopes["private"] == scopes["public"] {
		t.Errorf("scopes of different rules are equal: %q", scopes)
	}
}

func TestHandshakeWithASilentServer(t *testing.T) {
	t.Parallel()
	silent := listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	opts := &fetch.Options{Proxy: noProxy, Timeouts: fetch.Timeouts{Idle: 20 * time.Millisecond}}
	withEnv(t, opts, "x-env://h/", func(ctx context.Context, env fetch.Env, _ *fetch.Request) {
		conn, err := env.Dial(ctx, "tcp", silent)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		err = conn.Handshake(ctx, env.TLSConfig(ctx, "h"))
		var e *fetch.Error
		if !errors.As(err, &e) || e.Code != fetch.ErrNetwork || !e.Retry {
			t.Errorf("error %v, want one of class %q that may be tried again", err, fetch.ErrNetwork)
		}
	})
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(nil)
	t.Cleanup(s.Close)
	addr := s.Listener.Addr().String()
	plain := listen(t, func(c net.Conn) { io.WriteString(c, "220 hello, this is no TLS\r\n"); io.Copy(io.Discard, c) })
	cut := listen(t, func(c net.Conn) { c.Read(make([]byte, 1)) })
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	tests := []struct {
		name, addr, host string
		roots            *x509.CertPool
		code             fetch.Code
		retry            bool
	}{
		{"right", addr, "example.com", roots, "", false},
		{"unknown authority", addr, "example.com", x509.NewCertPool(), fetch.ErrTLS, false},
		{"another host", addr, "other.example", roots, fetch.ErrTLS, false},
		{"no TLS", plain, "example.com", roots, fetch.ErrTLS, false},
		{"cut off", cut, "example.com", roots, fetch.ErrTLS, true},
	}
	for _, tt := range tests {
		withEnv(t, &fetch.Options{Proxy: noProxy, TLS: &tls.Config{RootCAs: tt.roots}}, "x-env://h/", func(ctx context.Context, env fetch.Env, _ *fetch.Request) {
			conn, err := env.Dial(ctx, "tcp", tt.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			err = conn.Handshake(ctx, env.TLSConfig(ctx, tt.host))
			var e *fetch.Error
			if errors.As(err, &e); err == nil && tt.code == "" {
				return
			}
			if e == nil || e.Code != tt.code || e.Retry != tt.retry {
				t.Errorf("%s: error %v, want class %q and retry %v", tt.name, err, tt.code, tt.retry)
			}
		})
	}
}

// Anonymous requests, and requests that follow from them, use no credentials and do not share
// connections with other requests. Credentials for a proxy are still used.
func TestAnonymousRequestsHaveNoCredentials(t *testing.T) {
	t.Parallel()
	type seen struct {
		url, user, proxy, scope string
		foreign                 bool
	}
	for _, anonymous := range []bool{false, true} {
		var all []seen
		load := func(env fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "x-line", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
				func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
					cred, err := env.Credential(ctx, fetch.Challenge{URL: req.URL, Mechanism: "basic"})
					if err != nil && !errors.Is(err, fetch.ErrAuth) {
						t.Error(err)
					}
					proxy, err := env.Credential(ctx, fetch.Challenge{URL: uri.MustParse("http://proxy.example/"), Mechanism: "proxy"})
					if err != nil {
						t.Error(err)
					}
					all = append(all, seen{req.URL.Path(), cred.User, proxy.User, env.Scope(ctx), env.Foreign(ctx)})
					resp := &fetch.Response{Body: fetch.NoBody}
					switch req.URL.Path() {
					case "/url":
						resp.Location = []uri.URI{uri.MustParse("/redirect")}
					case "/redirect":
						return env.Open(ctx, &fetch.Request{URL: uri.MustParse("x-line://h/opened")})
					}
					return resp, nil
				})})
		}
		c := fetch.New(&fetch.Options{Proxy: noProxy, Credentials: fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) {
			return fetch.Credential{User: "joe"}, nil
		})}, load)
		resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("x-line://ann:secret@h/url"), Anonymous: anonymous})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		want := []seen{{"/url", "ann", "joe", "", false}, {"/redirect", "ann", "joe", "", false}, {"/opened", "joe", "joe", "", false}}
		if anonymous {
			want = []seen{{"/url", "", "joe", " anonymous", true}, {"/redirect", "", "joe", " anonymous", true}, {"/opened", "", "joe", " anonymous", true}}
		}
		for i := range all {
			all[i].scope = strings.ReplaceAll(all[i].scope, " public", "") // set for the target of a redirect
		}
		if !slices.Equal(all, want) {
			t.Errorf("anonymous %v: drivers saw %+v, want %+v", anonymous, all, want)
		}
	}
}

// Check returns the error of Do without sending anything.
func TestCheckReturnsErrorOfDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url, from string
		want      fetch.Code
	}{
		{"http://127.0.0.1/", "", ""},
		{"http://127.0.0.1/", "http://public.example/", fetch.ErrPolicy},
		{"http://127.0.0.1/", "http://10.0.0.1/", ""},
		{"http://h:25/", "", fetch.ErrPolicy},
		{"http://h:631/", "http://public.example/", fetch.ErrPolicy},
		{"http://h/", "http://public.example/", ""},
	} {
		web := &fakeWeb{}
		c := fetch.New(&fetch.Options{Proxy: noProxy}, web.load)
		req := &fetch.Request{URL: uri.MustParse(tt.url), From: uri.MustParse(tt.from)}
		if err := c.Check(req); fetch.CodeOf(err) != tt.want || len(web.urls()) > 0 {
			t.Errorf("%s from %q: %v after %q, want class %q", tt.url, tt.from, err, web.urls(), tt.want)
		}
	}
}
