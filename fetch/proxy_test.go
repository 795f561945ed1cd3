package fetch_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// useProxy returns an Options.Proxy that returns proxy for every URL.
func useProxy(proxy string) func(uri.URI) (uri.URI, error) {
	return func(uri.URI) (uri.URI, error) { return uri.MustParse(proxy), nil }
}

// socksProxy starts a SOCKS5 server. It serves connections to target itself, and refuses others with
// "host unreachable".
func socksProxy(t *testing.T, user, password, target string) string {
	return listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		methods := make([]byte, 2)
		io.ReadFull(in, methods)
		offered := make([]byte, methods[1])
		io.ReadFull(in, offered)
		switch {
		case user == "":
			c.Write([]byte{5, 0})
		case !bytes.Contains(offered, []byte{2}):
			c.Write([]byte{5, 0xff})
			return
		default:
			c.Write([]byte{5, 2})
			in.ReadByte()
			var login [2]string
			for i := range login {
				n, _ := in.ReadByte()
				b := make([]byte, n)
				io.ReadFull(in, b)
				login[i] = string(b)
			}
			if login != [2]string{user, password} {
				c.Write([]byte{1, 1})
				return
			}
			c.Write([]byte{1, 0})
		}
		head := make([]byte, 4)
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		host := ""
		switch head[3] {
		case 3:
			n, _ := in.ReadByte()
			b := make([]byte, n)
			io.ReadFull(in, b)
			host = string(b)
		case 1:
			b := make([]byte, 4)
			io.ReadFull(in, b)
			host = netip.AddrFrom4([4]byte(b)).String()
		}
		port := make([]byte, 2)
		io.ReadFull(in, port)
		if got := fmt.Sprintf("%s:%d", host, binary.BigEndian.Uint16(port)); got != target {
			c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0})
			return
		}
		c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		line, _ := in.ReadString('\n')
		fmt.Fprintf(c, "%s said %s", target, line)
	})
}

// socks4Proxy starts a SOCKS4 and SOCKS4A server for one user. It serves target as socksProxy does.
func socks4Proxy(t *testing.T, user, target string) string {
	return listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		head := make([]byte, 8)
		if _, err := io.ReadFull(in, head); err != nil || head[0] != 4 || head[1] != 1 {
			return
		}
		id, _ := in.ReadString(0)
		host := netip.AddrFrom4([4]byte(head[4:])).String()
		if strings.HasPrefix(host, "0.0.0.") {
			host, _ = in.ReadString(0)
		}
		switch got := fmt.Sprintf("%s:%d", strings.TrimRight(host, "\x00"), binary.BigEndian.Uint16(head[2:])); {
		case strings.TrimRight(id, "\x00") != user:
			c.Write([]byte{0, 93, 0, 0, 0, 0, 0, 0})
		case got != target:
			c.Write([]byte{0, 91, 0, 0, 0, 0, 0, 0})
		default:
			c.Write([]byte{0, 90, 0, 0, 0, 0, 0, 0})
			line, _ := in.ReadString('\n')
			fmt.Fprintf(c, "%s said %s", target, line)
		}
	})
}

// connectProxy starts an HTTP proxy that accepts CONNECT requests for target and serves them itself.
func connectProxy(t *testing.T, credentials, target string) string {
	return listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		req, err := http.ReadRequest(in)
		switch {
		case err != nil:
		case req.Method != http.MethodConnect || req.Host != target:
			fmt.Fprintf(c, "HTTP/1.1 403 not to %s\r\n\r\n", req.Host)
		case credentials != "" && req.Header.Get("Proxy-Authorization") != credentials:
			io.WriteString(c, "HTTP/1.1 407 who are you\r\nProxy-Authenticate: Basic\r\n\r\n")
		default:
			io.WriteString(c, "HTTP/1.1 200 go ahead\r\n\r\nhello, ")
			line, _ := in.ReadString('\n')
			fmt.Fprintf(c, "%s said %s", target, line)
		}
	})
}

// digestProxy starts an HTTP proxy that requires Digest for CONNECT and closes the connection after each
// challenge. The first login meets a nonce that has expired.
func digestProxy(t *testing.T, target string) string {
	var logins atomic.Int64
	field := regexp.MustCompile(`(\w+)="?([^",]*)"?`)
	hash := func(parts ...string) string { return fmt.Sprintf("%x", md5.Sum([]byte(strings.Join(parts, ":")))) }
	return listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		p := map[string]string{}
		answer, digest := strings.CutPrefix(req.Header.Get("Proxy-Authorization"), "Digest ")
		for _, m := range field.FindAllStringSubmatch(answer, -1) {
			p[m[1]] = m[2]
		}
		stale := ""
		if digest && logins.Add(1) == 1 {
			stale = ", stale=true"
		}
		want := hash(hash("u", "r", "p"), p["nonce"], p["nc"], p["cnonce"], "auth", hash("CONNECT", target))
		if p["response"] != want || p["uri"] != target || stale != "" {
			io.WriteString(c, "HTTP/1.1 407 who are you\r\nProxy-Authenticate: Basic realm=r\r\n"+
				`Proxy-Authenticate: Digest realm="r", nonce="n", qop="auth"`+stale+"\r\n\r\n")
			return
		}
		io.WriteString(c, "HTTP/1.1 200 go ahead\r\n\r\nhello, ")
		line, _ := in.ReadString('\n')
		fmt.Fprintf(c, "%s said %s", target, line)
	})
}

// A tunnelling proxy receives the host name. The client does not resolve it or connect to it.
func TestTunnels(t *testing.T) {
	t.Parallel()
	const target = "host.invalid:7"
	socks, locked := socksProxy(t, "", "", target), socksProxy(t, "u", "p", target)
	connect, closed := connectProxy(t, "", target), connectProxy(t, "Basic dTpw", target)
	named, byAddress := socks4Proxy(t, "u", target), socks4Proxy(t, "", "192.0.2.7:7")
	digest := digestProxy(t, target)
	noise := listen(t, func(c net.Conn) {
		bufio.NewReader(c).ReadString('\n')
		io.WriteString(c, "\x00\xff rubbish\r\n\r\n")
	})
	banner := listen(t, func(c net.Conn) { io.WriteString(c, "220 no proxy\r\n") })
	mute := listen(t, func(net.Conn) {})
	endless := listen(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 go ahead\r\n")
		for {
			if _, err := io.WriteString(c, "X: "+strings.Repeat("x", 1000)+"\r\n"); err != nil {
				return
			}
		}
	})
	tests := []struct {
		proxy, url, want string
		code             fetch.Code
	}{
		{"socks5://" + socks, "x-line://host.invalid/p", "host.invalid:7 said /p\n", ""},
		{"socks5h://" + socks, "x-line://host.invalid/p", "host.invalid:7 said /p\n", ""},
		{"socks5://" + socks, "x-line://other.invalid/p", "", fetch.ErrNetwork},
		{"socks5://u:p@" + locked, "x-line://host.invalid/p", "host.invalid:7 said /p\n", ""},
		{"socks5://u:wrong@" + locked, "x-line://host.invalid/p", "", fetch.ErrAuth},
		{"socks5://" + locked, "x-line://host.invalid/p", "", fetch.ErrAuth},
		{"socks4a://u@" + named, "x-line://host.invalid/p", "host.invalid:7 said /p\n", ""},
		{"socks4a://u@" + named, "x-line://other.invalid/p", "", fetch.ErrNetwork},
		{"socks4a://wrong@" + named, "x-line://host.invalid/p", "", fetch.ErrAuth},
		{"socks4a://" + byAddress, "x-line://192.0.2.7/p", "192.0.2.7:7 said /p\n", ""},
		{"socks4://" + byAddress, "x-line://192.0.2.7/p", "192.0.2.7:7 said /p\n", ""},
		{"socks://" + byAddress, "x-line://192.0.2.7/p", "192.0.2.7:7 said /p\n", ""},
		{"socks4://" + byAddress, "x-line://local.invalid/p", "192.0.2.7:7 said /p\n", ""}, // resolved by the client
		{"socks4://" + byAddress, "x-line://[2001:db8::1]/p", "", fetch.ErrPolicy},
		{"socks4://" + banner, "x-line://192.0.2.7/p", "", fetch.ErrProtocol},
		{"socks4://" + mute, "x-line://192.0.2.7/p", "", fetch.ErrProtocol},
		{"http://" + connect, "x-line://host.invalid/p", "hello, host.invalid:7 said /p\n", ""},
		{"connect://" + connect, "x-line://host.invalid/p", "hello, host.invalid:7 said /p\n", ""},
		{"http://" + connect, "x-line://other.invalid/p", "", fetch.ErrRefused},
		{"http://u:p@" + closed, "x-line://host.invalid/p", "hello, host.invalid:7 said /p\n", ""},
		{"http://" + closed, "x-line://host.invalid/p", "", fetch.ErrAuth},
		{"http://u:wrong@" + closed, "x-line://host.invalid/p", "", fetch.ErrAuth},
		{"http://u:p@" + digest, "x-line://host.invalid/p", "hello, host.invalid:7 said /p\n", ""},
		{"http://" + digest, "x-line://host.invalid/p", "", fetch.ErrAuth},
		{"http://u:wrong@" + digest, "x-line://host.invalid/p", "", fetch.ErrAuth},
		{"http://" + noise, "x-line://host.invalid/p", "", fetch.ErrProtocol},
		{"http://" + mute, "x-line://host.invalid/p", "", fetch.ErrProtocol},
		{"http://" + endless, "x-line://host.invalid/p", "", fetch.ErrProtocol},
		{"https://" + connect, "x-line://host.invalid/p", "", fetch.ErrTLS},
		{"ftp://" + connect, "x-line://host.invalid/p", "", fetch.ErrURL},
	}
	for _, tt := range tests {
		hosts := map[string]netip.Addr{"local.invalid:7": netip.MustParseAddr("192.0.2.7")}
		c := fetch.New(&fetch.Options{Proxy: useProxy(tt.proxy), Network: fetch.Network{Hosts: hosts}, Policy: &fetch.Policy{
			CheckAddr: func(_ uri.URI, a netip.AddrPort) error {
				if !strings.HasSuffix(tt.proxy, a.String()) && !strings.HasPrefix(tt.proxy, "socks4") && !strings.HasPrefix(tt.proxy, "socks:") {
					t.Errorf("%s: connects to %s", tt.proxy, a)
				}
				return nil
			}}}, loadLine)
		got, err := text(t, c, tt.url)
		if got != tt.want || fetch.CodeOf(err) != tt.code {
			t.Errorf("%s by %s: %q, error %v; want %q and class %q", tt.url, tt.proxy, got, err, tt.want, tt.code)
		}
		if strings.Contains(fmt.Sprint(err), "wrong") {
			t.Errorf("%s: the error has the password: %v", tt.proxy, err)
		}
	}
}

func TestTunnelsAreBoundToTheContext(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 1)
	silent := listen(t, func(c net.Conn) {
		reached <- struct{}{}
		io.Copy(io.Discard, c)
	})
	for _, scheme := range []string{"http", "https", "socks5", "socks4a"} {
		why := errors.New("enough of " + scheme)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-reached
			cancel(why)
		}()
		c := fetch.New(&fetch.Options{Proxy: useProxy(scheme + "://" + silent)}, loadLine)
		if _, err := c.Get(ctx, "x-line://host.invalid/"); !errors.Is(err, why) {
			t.Errorf("%s: error %v, want the cause of the context", scheme, err)
		}
	}
}

// A proxy that accepts the connection and sends nothing is a timeout, whatever its protocol.
func TestSilentProxies(t *testing.T) {
	t.Parallel()
	silent := listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	dripping := listen(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
		for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
			if _, err := io.WriteString(c, "y"); err != nil {
				return
			}
		}
	})
	for _, proxy := range []string{"http://" + silent, "https://" + silent, "connect://" + dripping, "socks5://" + silent,
		"socks4a://" + silent} {
		c := fetch.New(&fetch.Options{Proxy: useProxy(proxy), Timeouts: fetch.Timeouts{Connect: 100 * time.Millisecond}}, loadLine)
		_, err := c.Get(t.Context(), "x-line://host.invalid/")
		var e *fetch.Error
		if !errors.As(err, &e) || e.Code != fetch.ErrNetwork || !e.Retry || !strings.Contains(e.Error(), "proxy "+proxy+": no connection within 100ms") {
			t.Errorf("%s: error %v, want one of class network that says who did not answer", proxy, err)
		}
	}
}

// Options.Proxy applies to loopback addresses. Proxies from the environment do not.
func TestProxyForLoopback(t *testing.T) {
	t.Parallel()
	proxy := connectProxy(t, "", "127.0.0.1:7")
	c := fetch.New(&fetch.Options{Proxy: useProxy("connect://" + proxy)}, loadLine)
	if got, err := text(t, c, "x-line://127.0.0.1/p"); err != nil || got != "hello, 127.0.0.1:7 said /p\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNoProxy(t *testing.T) {
	t.Parallel()
	web := &fakeWeb{}
	c := fetch.New(&fetch.Options{Proxy: useProxy("http://proxy.example:3128"), NoProxy: "a.example b.example:21"}, web.load)
	for u, direct := range map[string]bool{"http://a.example/": true, "http://x.a.example/": true, "http://b.example/": false,
		"ftp://b.example/": true, "http://c.example/": false} {
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse(u)})
		if err != nil || x.Proxy.IsZero() != direct {
			t.Errorf("%s: by %s, %v", u, x.Proxy, err)
		}
	}
}

func TestProxyTunnel(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "https"} {
		web := &fakeWeb{}
		c := fetch.New(&fetch.Options{Proxy: useProxy(scheme + "://proxy.example:3128"), ProxyTunnel: true}, web.load)
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse("http://h/x")})
		if err != nil || x.ForwardProxy || x.Proxy.IsZero() {
			t.Errorf("%s: relayed %v by %s, %v", scheme, x.ForwardProxy, x.Proxy, err)
		}
	}
}

func TestTunnelledConnection(t *testing.T) {
	t.Parallel()
	proxy := socksProxy(t, "", "", "host.invalid:7")
	withEnv(t, &fetch.Options{Proxy: useProxy("socks5://" + proxy)}, "x-env://host.invalid/", func(ctx context.Context, env fetch.Env, req *fetch.Request) {
		conn, err := env.Dial(ctx, "tcp", "host.invalid:7")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if got := conn.RemoteAddr().String(); got != "host.invalid:7" {
			t.Errorf("RemoteAddr is %s, want the host by its name", got)
		}
		if _, err := env.ListenPeer(ctx, conn); fetch.CodeOf(err) != fetch.ErrPolicy {
			t.Errorf("ListenPeer behind a proxy: %v", err)
		}
		if _, err := env.Dial(ctx, "udp", "host.invalid:7"); fetch.CodeOf(err) != fetch.ErrPolicy {
			t.Errorf("UDP through a proxy: %v", err)
		}
		if got := env.Scope(ctx); !strings.Contains(got, proxy) {
			t.Errorf("Scope %q does not tell this proxy from others", got)
		}
		if _, ok := env.Proxy(ctx); ok {
			t.Error("a tunnel is said to retrieve URLs")
		}
	})
}

// A forward proxy gets the URL itself, through the driver of the proxy's scheme.
func TestForwardProxies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url   string
		proxy string
		relay bool
	}{
		{"ftp://h/x", "http://proxy.example:3128", true},
		{"http://h/x", "http://proxy.example:3128", true},
		{"https://h/x", "http://proxy.example:3128", false},
		{"http://h/x", "connect://proxy.example:3128", false},
		{"http://h/x", "socks5://proxy.example:3128", false},
	} {
		var gotProxy uri.URI
		var gotRelay bool
		web := &fakeWeb{pages: map[string]string{tt.url: "text"}}
		c := fetch.New(&fetch.Options{Proxy: useProxy(tt.proxy), Middleware: []fetch.Middleware{func(next fetch.Driver) fetch.Driver {
			return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				gotProxy, gotRelay = web.env.Proxy(ctx)
				return next.Open(ctx, req)
			})
		}}}, web.load)
		if got, err := text(t, c, tt.url); got != "text" || err != nil {
			t.Errorf("%s by %s: %q, %v", tt.url, tt.proxy, got, err)
		}
		if gotRelay != tt.relay || gotProxy.String() != tt.proxy {
			t.Errorf("%s by %s: Env.Proxy is %s, %v", tt.url, tt.proxy, gotProxy, gotRelay)
		}
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse(tt.url)})
		if err != nil || x.ForwardProxy != tt.relay || x.Proxy.String() != tt.proxy {
			t.Errorf("%s by %s: Explain says %s, relayed %v, %v", tt.url, tt.proxy, x.Proxy, x.ForwardProxy, err)
		}
	}
}

func TestProxyFunctionThatFails(t *testing.T) {
	t.Parallel()
	odd := errors.New("odd")
	web := &fakeWeb{}
	c := fetch.New(&fetch.Options{Proxy: func(uri.URI) (uri.URI, error) { return uri.URI{}, odd }}, web.load)
	if _, err := c.Get(t.Context(), "http://h/"); !errors.Is(err, odd) || len(web.requests) != 0 {
		t.Errorf("error %v; asked for %q", err, web.urls())
	}
	if _, err := c.Get(t.Context(), "file:///x"); fetch.CodeOf(err) != fetch.ErrNotFound {
		t.Errorf("a URL without a host went through a proxy: %v", err)
	}
}

// TestOddTunnels tests unusual responses to CONNECT. The bytes after the response belong to the
// tunnel.
func TestOddTunnels(t *testing.T) {
	t.Parallel()
	const target = "host.invalid:7"
	for name, answer := range map[string]string{
		"informational answers":     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 go ahead\r\n\r\n",
		"no reason":                 "HTTP/1.1 200\r\n\r\n",
		"HTTP/1.0":                  "HTTP/1.0 200 go ahead\r\nProxy-Agent: x\r\n\r\n",
		"another success":           "HTTP/1.1 204 go ahead\r\n\r\n",
		"a length, which is void":   "HTTP/1.1 200 go ahead\r\nContent-Length: 5\r\n\r\n",
		"chunks, which are none":    "HTTP/1.1 200 go ahead\r\nTransfer-Encoding: chunked\r\n\r\n",
		"it is said to be closed":   "HTTP/1.1 200 go ahead\r\nConnection: close\r\n\r\n",
		"lines without CR":          "HTTP/1.1 200 go ahead\nX: y\n\n",
		"a field in several lines":  "HTTP/1.1 200 go ahead\r\nX: y\r\n z\r\n\r\n",
		"a length besides chunks":   "HTTP/1.1 200 go ahead\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"a line feed and CR and LF": "HTTP/1.1 200 go ahead\nX: y\r\n\r\n",
	} {
		proxy := listen(t, func(c net.Conn) {
			in := bufio.NewReader(c)
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			io.WriteString(c, answer+"\r\nhello, ")
			line, _ := in.ReadString('\n')
			fmt.Fprintf(c, "%s said %s", target, line)
		})
		c := fetch.New(&fetch.Options{Proxy: useProxy("connect://" + proxy)}, loadLine)
		resp, err := c.Get(t.Context(), "x-line://host.invalid/p")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(got) != "\r\nhello, host.invalid:7 said /p\n" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A client reads the proxy variables when it is created.
func TestClientReadsProxyVariablesOnce(t *testing.T) {
	proxied := func(c *fetch.Client) bool {
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse("x-line://h.invalid/")})
		if err != nil {
			t.Fatal(err)
		}
		return x.Proxy.Host() == "p.invalid"
	}
	before := fetch.New(nil, loadLine)
	for _, name := range []string{"all_proxy", "ALL_PROXY", "x-line_proxy"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "socks5://p.invalid:1080")
			if proxied(before) {
				t.Error("a client takes note of what was set later")
			}
			if !proxied(fetch.New(nil, loadLine)) {
				t.Error("a client takes no note of the environment")
			}
		})
	}
}

// The rules on addresses cannot be applied to names that a proxy resolves.
func TestUntrustedHostNamesAreNotSentToProxies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url    string
		policy fetch.Policy
		direct bool // the host is exempt from the proxy
		ok     bool
	}{
		{url: "http://intranet.example/"},
		{url: "https://intranet.example/"},
		{url: "http://localhost/"},
		{url: "http://0x7f.1/"},
		{url: "http://10.0.0.1/"},
		{url: "https://[::1]/"},
		{url: "http://192.0.2.7/", ok: true},
		{url: "https://[2001:db8::7]/", ok: true},
		{url: "http://intranet.example/", direct: true, ok: true},
		{url: "http://10.0.0.1/", direct: true},
		{url: "http://intranet.example/", policy: fetch.Policy{AllowPrivate: true}, ok: true},
		{url: "http://10.0.0.1/", policy: fetch.Policy{AllowPrivate: true}, ok: true},
	} {
		for _, proxy := range []string{"http://proxy.example:3128", "connect://proxy.example:3128", "socks5://proxy.example:1080"} {
			for _, from := range []string{"", tt.url} {
				web := &fakeWeb{pages: map[string]string{tt.url: "text"}}
				tt.policy.Untrusted = true
				o := &fetch.Options{Policy: &tt.policy, Proxy: useProxy(proxy)}
				if tt.direct {
					o.NoProxy = "*"
				}
				req := &fetch.Request{URL: uri.MustParse(tt.url)}
				if from != "" {
					req.From = uri.MustParse(from)
				}
				_, err := fetch.New(o, web.load).Do(t.Context(), req)
				if (err == nil) != tt.ok || err != nil && fetch.CodeOf(err) != fetch.ErrPolicy || len(web.urls()) > 0 != tt.ok {
					t.Errorf("%s by %s, from %q: %v, asked for %q", tt.url, proxy, from, err, web.urls())
				}
			}
		}
	}
	// A user's URL may have a name that only the proxy can resolve.
	web := &fakeWeb{pages: map[string]string{"http://intranet.example/": "text"}}
	if _, err := fetch.New(&fetch.Options{Proxy: useProxy("http://proxy.example:3128")}, web.load).Get(t.Context(), "http://intranet.example/"); err != nil {
		t.Error(err)
	}
}

// TestRefusingProxiesAreAskedThreeTimes checks a proxy whose nonces are always stale.
func TestRefusingProxiesAreAskedThreeTimes(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	proxy := listen(t, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		asked.Add(1)
		io.WriteString(c, "HTTP/1.1 407 who are you\r\n"+
			`Proxy-Authenticate: Digest realm="r", nonce="n", qop="auth", stale=true`+"\r\n\r\n")
	})
	c := fetch.New(&fetch.Options{Proxy: useProxy("http://u:p@" + proxy)}, loadLine)
	if _, err := text(t, c, "x-line://host.invalid/p"); fetch.CodeOf(err) != fetch.ErrAuth || asked.Load() != 3 {
		t.Errorf("%v after %d requests, want 3", err, asked.Load())
	}
}

// TestWrongProxyPasswordIsSentOnce checks that each URL of a list does not make a failed login at a proxy,
// for Basic and Digest. A login that was accepted once is tried again.
func TestWrongProxyPasswordIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, challenge := range []string{`Basic realm="r"`, `Digest realm="r", nonce="n", qop="auth"`} {
		var accepts atomic.Bool
		var logins atomic.Int64
		scheme, _, _ := strings.Cut(challenge, " ")
		proxy := listen(t, func(c net.Conn) {
			req, err := http.ReadRequest(bufio.NewReader(c))
			if err != nil {
				return
			}
			if strings.HasPrefix(req.Header.Get("Proxy-Authorization"), scheme) {
				logins.Add(1)
				if accepts.Load() {
					io.WriteString(c, "HTTP/1.1 200 go ahead\r\n\r\nhello\n")
					return
				}
			}
			io.WriteString(c, "HTTP/1.1 407 who are you\r\nProxy-Authenticate: "+challenge+"\r\n\r\n")
		})
		o := &fetch.Options{Proxy: useProxy("http://u:p@" + proxy)}
		fails := func(c *fetch.Client, want string) {
			if _, err := text(t, c, "x-line://host.invalid/p"); fetch.CodeOf(err) != fetch.ErrAuth ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", scheme, err, want)
			}
		}
		c := fetch.New(o, loadLine)
		fails(c, "did not connect")
		fails(c, "already refused the user name or password")
		fails(c, "already refused the user name or password")
		if n := logins.Load(); n != 1 {
			t.Errorf("%s: %d logins were sent, want 1", scheme, n)
		}
		c = fetch.New(o, loadLine) // of another user
		accepts.Store(true)
		if _, err := text(t, c, "x-line://host.invalid/p"); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
		accepts.Store(false)
		fails(c, "did not connect")
		fails(c, "did not connect")
		if n := logins.Load(); n != 4 {
			t.Errorf("%s: %d logins were sent, want 4", scheme, n)
		}
	}
}
