package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestPortRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url, from string
		allow     []uint16
		ok        bool
	}{
		{"http://h/", "", nil, true},
		{"http://h:80/", "", nil, true},
		{"http://h:8080/", "", nil, true},
		{"http://h:81/", "", nil, true},
		{"http://h:25/", "", nil, false},
		{"http://h:6667/", "", nil, false},
		{"http://h:0x19/", "", nil, false}, // not a URL
		{"http://h:25/", "", []uint16{25}, true},
		{"ftp://h:21/", "", nil, true},
		{"http://h:21/", "", nil, false},
		{"http://h/", "http://o/", nil, true},
		{"http://h:8080/", "http://o/", nil, true},
		{"http://h:81/", "http://o/", nil, false},
		{"http://h:81/", "http://o/", []uint16{81}, true},
		{"http://h:81/", "http://h:81/", nil, true},
		{"http://h:81/", "http://o:81/", nil, false},
		{"http://h:81/", "ftp://h:81/", nil, false},
		{"http://h:443/", "https://h/", nil, false},
		{"http://h:25/", "http://h:25/", nil, false}, // even from the same port
		{"http://h:6667/", "http://o/", nil, false},
	}
	for _, tt := range tests {
		u, err := uri.Parse(tt.url)
		if err == nil {
			web := &fakeWeb{pages: map[string]string{tt.url: "text"}}
			c := fetch.New(&fetch.Options{Proxy: noProxy, Policy: &fetch.Policy{AllowPorts: tt.allow}}, web.load)
			req := &fetch.Request{URL: u}
			if tt.from != "" {
				req.From = uri.MustParse(tt.from)
			}
			_, err = c.Do(t.Context(), req)
			if err != nil && len(web.urls()) > 0 {
				t.Errorf("%s from %q: refused after the driver was asked", tt.url, tt.from)
			}
		}
		if (err == nil) != tt.ok || err != nil && fetch.CodeOf(err) != fetch.ErrPolicy && !errors.As(err, new(*uri.Error)) {
			t.Errorf("%s from %q, allowed %v: error %v", tt.url, tt.from, tt.allow, err)
		}
	}
}

// With Policy.Untrusted, URLs are treated as if a resource on a public address supplied them,
// whatever Request.From is.
func TestUntrustedPolicy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url, from string
		policy    fetch.Policy
		ok        bool
	}{
		{url: "http://192.0.2.7/", ok: true},
		{url: "http://192.0.2.7:8080/", ok: true},
		{url: "http://192.0.2.7:81/"},
		{url: "http://192.0.2.7:81/", from: "http://192.0.2.7:81/"},
		{url: "http://192.0.2.7:81/", policy: fetch.Policy{AllowPorts: []uint16{81}}, ok: true},
		{url: "http://127.0.0.1/"},
		{url: "http://127.0.0.1/", from: "http://127.0.0.1/"},
		{url: "http://10.1.2.3/", from: "file:///x"},
		{url: "http://[::1]/"},
		{url: "http://127.0.0.1/", policy: fetch.Policy{AllowPrivate: true}, ok: true},
		{url: "file:///etc/motd"},
		{url: "file:///etc/motd", from: "file:///etc/"},
		{url: "http://10.1.2.3/", from: "http://10.1.2.3/"},
		{url: "http://10.1.2.3/", from: "http://192.0.2.7/"},
		{url: "file:///etc/motd", policy: fetch.Policy{AllowPrivate: true}},
		{url: "file:///etc/motd", policy: fetch.Policy{AllowFile: true}, ok: true},
	}
	for _, tt := range tests {
		u, from := uri.MustParse(tt.url), uri.URI{}
		if tt.from != "" {
			from = uri.MustParse(tt.from)
		}
		tt.policy.Untrusted = true
		web := &fakeWeb{pages: map[string]string{tt.url: "text"}}
		c := fetch.New(&fetch.Options{Proxy: noProxy, Policy: &tt.policy}, web.load)
		_, err := c.Do(t.Context(), &fetch.Request{URL: u, From: from})
		if (err == nil) != tt.ok || err != nil && fetch.CodeOf(err) != fetch.ErrPolicy {
			t.Errorf("%s from %q: error %v", tt.url, tt.from, err)
		}
		if err != nil && len(web.urls()) > 0 {
			t.Errorf("%s: refused after the driver was asked", tt.url)
		}
	}
}

func TestRemoteProvenanceRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url, from string
		policy    fetch.Policy
		ok        bool
	}{
		{url: "file:///etc/motd", ok: true},
		{url: "file:///etc/motd", from: "http://h/"},
		{url: "file:///etc/motd", from: "http://localhost/"},
		{url: "file:///etc/motd", from: "http://h/", policy: fetch.Policy{AllowFile: true}, ok: true},
		{url: "file:///etc/motd", from: "file:///index.html", ok: true},
		{url: "http://h/", from: "file:///index.html", ok: true},
		{url: "http://127.0.0.1/", from: "file:///index.html"},
		{url: "telnet://h/", from: "http://h/"},
		{url: "telnet://h/", from: "file:///index.html"},
		{url: "telnet://h/", from: "http://h/", policy: fetch.Policy{AllowSessions: true}, ok: true},
		{url: "telnet://h:25/", from: "http://h/", policy: fetch.Policy{AllowSessions: true}},
		{url: "telnet://127.0.0.1/", from: "http://h/", policy: fetch.Policy{AllowSessions: true}},
		{url: "mailto:a@b", from: "http://h/", policy: fetch.Policy{AllowSessions: true}},
		{url: "mailto:a@b", from: "http://h/"},
		{url: "http://127.0.0.1/", ok: true},
		{url: "http://127.0.0.1/", from: "http://h/"},
		{url: "http://127.0.0.1/", from: "http://192.0.2.1/"},
		{url: "http://127.0.0.1/", from: "http://10.0.0.1/", ok: true},
		{url: "http://127.0.0.1/", from: "http://localhost/", ok: true},
		{url: "http://127.0.0.1/", from: "http://h/", policy: fetch.Policy{AllowPrivate: true}, ok: true},
		{url: "http://0x7f.1/", from: "http://h/"},
		{url: "http://2130706433/", from: "http://h/"},
		{url: "http://[::1]/", from: "http://h/"},
		{url: "http://[::ffff:127.0.0.1]/", from: "http://h/"},
		{url: "http://[fe80::1%25eth0]/", from: "http://h/"},
		{url: "http://[fd00::1]/", from: "http://h/"},
		{url: "http://[::]/", from: "http://h/"},
		{url: "http://0.0.0.0/", from: "http://h/"},
		{url: "http://10.1.2.3/", from: "http://h/"},
		{url: "http://172.16.0.1/", from: "http://h/"},
		{url: "http://192.168.0.1/", from: "http://h/"},
		{url: "http://169.254.169.254/", from: "http://h/"},
		{url: "http://100.64.0.1/", from: "http://h/"},
		{url: "http://224.0.0.1/", from: "http://h/"},
		{url: "http://192.0.2.1/", from: "http://h/", ok: true},
		{url: "http://[2001:db8::1]/", from: "http://h/", ok: true},
	}
	for _, tt := range tests {
		web := &fakeWeb{pages: map[string]string{tt.url: "text"}}
		c := fetch.New(&fetch.Options{Proxy: noProxy, Policy: &tt.policy}, web.load)
		req := &fetch.Request{URL: uri.MustParse(tt.url)}
		if req.URL.Scheme() == "telnet" {
			req.Op = fetch.OpDial
		}
		if tt.from != "" {
			req.From = uri.MustParse(tt.from)
		}
		_, err := c.Do(t.Context(), req)
		if (err == nil) != tt.ok || err != nil && fetch.CodeOf(err) != fetch.ErrPolicy {
			t.Errorf("%s from %q: error %v", tt.url, tt.from, err)
		}
		if err != nil && len(web.urls()) > 0 {
			t.Errorf("%s from %q: refused after the driver was asked", tt.url, tt.from)
		}
	}
}

func TestCheckURLIsCalledOncePerHop(t *testing.T) {
	t.Parallel()
	web := &fakeWeb{pages: map[string]string{"http://a/": "-> http://b/", "http://b/": "-> http://c/", "http://c/": "end"}}
	var calls []string
	why := errors.New("not there")
	c := fetch.New(&fetch.Options{Proxy: noProxy, Policy: &fetch.Policy{CheckURL: func(u, from uri.URI) error {
		calls = append(calls, from.String()+" > "+u.String())
		if u.Host() == "c" {
			return why
		}
		return nil
	}}}, web.load)
	_, err := c.Get(t.Context(), "http://a/")
	if !errors.Is(err, why) || fetch.CodeOf(err) != fetch.ErrPolicy {
		t.Errorf("error %v", err)
	}
	if got, want := fmt.Sprint(calls), "[ > http://a/ http://a/ > http://b/ http://b/ > http://c/]"; got != want {
		t.Errorf("asked about %s, want %s", got, want)
	}
	if got := fmt.Sprint(web.urls()); got != "[http://a/ http://b/]" {
		t.Errorf("opened %s", got)
	}
}

// A fakeNet resolves names with hosts and dials one listener for all addresses. Its connections
// return the requested address as their remote address.
type fakeNet struct {
	addr  string
	hosts map[string]netip.Addr
	mu    sync.Mutex
	peers []string
}

func (n *fakeNet) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", n.addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.peers = append(n.peers, addr)
	n.mu.Unlock()
	return claimedConn{conn, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))}, nil
}

type claimedConn struct {
	net.Conn
	peer net.Addr
}

func (c claimedConn) RemoteAddr() net.Addr { return c.peer }

func (n *fakeNet) options() *fetch.Options {
	return &fetch.Options{Proxy: noProxy, DialContext: n.dial, Network: fetch.Network{Hosts: n.hosts}}
}

// redirectingLine is loadLine, except that a query is the target of a redirect.
func redirectingLine(env fetch.Env, reg *fetch.Registry) {
	plain := lineDriver(env)
	reg.Register(fetch.Scheme{Name: "x-line", Port: 7, Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
		func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			resp, err := plain(ctx, req)
			if to, ok := req.URL.Query(); ok && err == nil {
				resp.Location = []uri.URI{uri.MustParse(to)}
			}
			return resp, err
		})})
}

// The rule on private addresses applies to resolved addresses. The address of the referring host
// decides whether it applies.
func TestPrivateAddressesBehindNames(t *testing.T) {
	t.Parallel()
	hosts := map[string]netip.Addr{
		"public.example:7": netip.MustParseAddr("192.0.2.1"),
		"other.example:7":  netip.MustParseAddr("192.0.2.2"),
		"evil.example:7":   netip.MustParseAddr("127.0.0.1"),
		"intra.example:7":  netip.MustParseAddr("10.0.0.1"),
	}
	addr := listen(t, answerHello)
	tests := []struct {
		url string
		ok  bool
	}{
		{"x-line://public.example/", true},
		{"x-line://evil.example/", true}, // the user's URL
		{"x-line://public.example/?x-line://other.example/", true},
		{"x-line://public.example/?x-line://evil.example/", false},
		{"x-line://public.example/?x-line://intra.example/", false},
		{"x-line://intra.example/?x-line://evil.example/", true},
		{"x-line://intra.example/?x-line://public.example/", true},
	}
	for _, tt := range tests {
		n := &fakeNet{addr: addr, hosts: hosts}
		c := fetch.New(n.options(), redirectingLine)
		got, err := text(t, c, tt.url)
		if tt.ok && (err != nil || got != "hello") {
			t.Errorf("%s: %q, %v", tt.url, got, err)
		}
		if !tt.ok && fetch.CodeOf(err) != fetch.ErrPolicy {
			t.Errorf("%s: error %v, want the policy's", tt.url, err)
		}
		if !tt.ok && !strings.Contains(fmt.Sprint(err), "public.example") {
			t.Errorf("%s: the error does not say who led there: %v", tt.url, err)
		}
	}
}

// The address of a host behind a proxy is not known, even if the proxy itself is private. The host
// counts as public.
func TestHostsBehindProxiesArePublic(t *testing.T) {
	t.Parallel()
	addr := listen(t, answerHello) // the private server, and a proxy
	for proxy, code := range map[string]fetch.Code{
		"":               "",
		"http://" + addr: fetch.ErrPolicy,
		"socks5://" + socksProxy(t, "", "", "h.example:8080"): fetch.ErrPolicy,
	} {
		n := &fakeNet{addr: addr, hosts: map[string]netip.Addr{"h.example:8080": netip.MustParseAddr("127.0.0.1")}}
		o := n.options()
		if proxy != "" {
			o.DialContext = nil
			o.Proxy = func(u uri.URI) (uri.URI, error) {
				if u.Host() == "h.example" {
					return uri.MustParse(proxy), nil
				}
				return uri.URI{}, nil
			}
		}
		c := fetch.New(o, func(env fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "http", Port: 80, Ops: []fetch.Op{fetch.OpGet}, ForwardProxy: true, Driver: fetch.DriverFunc(
				func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
					dup := *req
					if by, ok := env.Proxy(ctx); ok {
						dup.URL = by
					}
					resp, err := lineDriver(env)(ctx, &dup)
					if to, ok := req.URL.Query(); ok && err == nil {
						resp.Location = []uri.URI{uri.MustParse(to)}
					}
					return resp, err
				})})
		})
		if _, err := text(t, c, "http://h.example:8080/"); err != nil {
			t.Fatalf("by %q: %v", proxy, err)
		}
		_, redirect := text(t, c, "http://h.example:8080/?http://"+addr+"/")
		resp, entry := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("http://" + addr + "/"), From: uri.MustParse("http://h.example:8080/")})
		if entry == nil {
			resp.Body.Close()
		}
		if fetch.CodeOf(redirect) != code || fetch.CodeOf(entry) != code {
			t.Errorf("by %q: a redirect ends with %v, an entry with %v, want class %q", proxy, redirect, entry, code)
		}
	}
}

func TestCheckAddrSeesEachAddress(t *testing.T) {
	t.Parallel()
	addr := listen(t, answerHello)
	why := errors.New("not that one")
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"own dialer":      nil,
		"caller's dialer": new(net.Dialer).DialContext,
	} {
		var seen []string
		refuse := false
		c := fetch.New(&fetch.Options{Proxy: noProxy, DialContext: dial, Policy: &fetch.Policy{
			CheckAddr: func(u uri.URI, a netip.AddrPort) error {
				seen = append(seen, u.Path()+" "+a.String())
				if refuse {
					return why
				}
				return nil
			}}}, loadLine)
		if got, err := text(t, c, "x-line://"+addr+"/p"); got != "hello" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		refuse = true
		if _, err := text(t, c, "x-line://"+addr+"/p"); !errors.Is(err, why) || fetch.CodeOf(err) != fetch.ErrPolicy {
			t.Errorf("%s: error %v, want the policy's", name, err)
		}
		if want := fmt.Sprint([]string{"/p " + addr, "/p " + addr}); fmt.Sprint(seen) != want {
			t.Errorf("%s: asked about %q, want %s", name, seen, want)
		}
	}
}

// A URL of an unregistered scheme opens no connection, not even to a part that looks like a host.
func TestUnknownSchemesConnectToNothing(t *testing.T) {
	t.Parallel()
	c := fetch.New(&fetch.Options{
		Proxy: noProxy,
		DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
			t.Errorf("dialed %s", addr)
			return nil, errors.New("no")
		},
	}, loadLine)
	for _, u := range []string{"news:a@b", "mailto:a@b", "mid:a@b", "foo://h/x", "//h/x", "h/x", ""} {
		want := fetch.ErrScheme
		if !strings.Contains(u, ":") {
			want = fetch.ErrURL
		}
		if _, err := c.Get(t.Context(), u); fetch.CodeOf(err) != want {
			t.Errorf("Get(%q): error %v, want class %q", u, err, want)
		}
		if _, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(u)}); fetch.CodeOf(err) != want {
			t.Errorf("Stat(%q): error %v, want class %q", u, err, want)
		}
		if _, err := c.Dial(t.Context(), u); fetch.CodeOf(err) != want {
			t.Errorf("Dial(%q): error %v, want class %q", u, err, want)
		}
	}
}
