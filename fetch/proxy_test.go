package fetch_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// through makes every URL go through one proxy.
func through(proxy string) func(uri.URI) (uri.URI, error) {
	return func(uri.URI) (uri.URI, error) { return uri.MustParse(proxy), nil }
}

// socksProxy speaks SOCKS5 as the server. It answers each request for target
// itself, as if it had connected, and others with "host unreachable".
func socksProxy(t *testing.T, user, password, target string) string {
	return listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		methods := make([]byte, 2)
		io.ReadFull(in, methods)
		offered := make([]byte, methods[1])
		io.ReadFull(in, offered)
		if user == "" {
			c.Write([]byte{5, 0})
		} else {
			c.Write([]byte{5, 2})
			in.ReadByte()
			var given [2]string
			for i := range given {
				n, _ := in.ReadByte()
				b := make([]byte, n)
				io.ReadFull(in, b)
				given[i] = string(b)
			}
			if given != [2]string{user, password} {
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

// connectProxy answers CONNECT for target likewise.
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

// Through a tunnel, the proxy is given the host by name: nothing here is
// resolved or connected to.
func TestTunnels(t *testing.T) {
	t.Parallel()
	const target = "host.invalid:7"
	socks, locked := socksProxy(t, "", "", target), socksProxy(t, "u", "p", target)
	connect, closed := connectProxy(t, "", target), connectProxy(t, "Basic dTpw", target)
	noise := listen(t, func(c net.Conn) {
		bufio.NewReader(c).ReadString('\n')
		io.WriteString(c, "\x00\xff rubbish\r\n\r\n")
	})
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
		{"socks5://u:wrong@" + locked, "x-line://host.invalid/p", "", fetch.ErrNetwork},
		{"http://" + connect, "x-line://host.invalid/p", "hello, host.invalid:7 said /p\n", ""},
		{"connect://" + connect, "x-line://host.invalid/p", "hello, host.invalid:7 said /p\n", ""},
		{"http://" + connect, "x-line://other.invalid/p", "", fetch.ErrRefused},
		{"http://u:p@" + closed, "x-line://host.invalid/p", "hello, host.invalid:7 said /p\n", ""},
		{"http://" + closed, "x-line://host.invalid/p", "", fetch.ErrAuth},
		{"http://u:wrong@" + closed, "x-line://host.invalid/p", "", fetch.ErrAuth},
		{"http://" + noise, "x-line://host.invalid/p", "", fetch.ErrProtocol},
		{"http://" + mute, "x-line://host.invalid/p", "", fetch.ErrProtocol},
		{"http://" + endless, "x-line://host.invalid/p", "", fetch.ErrProtocol},
		{"https://" + connect, "x-line://host.invalid/p", "", fetch.ErrTLS},
		{"ftp://" + connect, "x-line://host.invalid/p", "", fetch.ErrURL},
	}
	for _, tt := range tests {
		c := fetch.New(&fetch.Options{Proxy: through(tt.proxy), Policy: &fetch.Policy{
			CheckAddr: func(_ uri.URI, a netip.AddrPort) error {
				if !strings.HasSuffix(tt.proxy, a.String()) {
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
	for _, scheme := range []string{"http", "https", "socks5"} {
		why := errors.New("enough of " + scheme)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-reached
			cancel(why)
		}()
		c := fetch.New(&fetch.Options{Proxy: through(scheme + "://" + silent)}, loadLine)
		if _, err := c.Get(ctx, "x-line://host.invalid/"); !errors.Is(err, why) {
			t.Errorf("%s: error %v, want the cause of the context", scheme, err)
		}
	}
}

func TestTunnelledConnection(t *testing.T) {
	t.Parallel()
	proxy := socksProxy(t, "", "", "host.invalid:7")
	withEnv(t, &fetch.Options{Proxy: through("socks5://" + proxy)}, "x-env://host.invalid/", func(ctx context.Context, env *fetch.Env, req *fetch.Request) {
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

// A relaying proxy gets the URL itself, by the driver that speaks to it.
func TestRelayingProxies(t *testing.T) {
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
		c := fetch.New(&fetch.Options{Proxy: through(tt.proxy), Middleware: []fetch.Middleware{func(next fetch.Driver) fetch.Driver {
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
		if err != nil || x.Relayed != tt.relay || x.Proxy.String() != tt.proxy {
			t.Errorf("%s by %s: Explain says %s, relayed %v, %v", tt.url, tt.proxy, x.Proxy, x.Relayed, err)
		}
	}
}

func TestProxyFunctionThatFails(t *testing.T) {
	t.Parallel()
	odd := errors.New("odd")
	web := &fakeWeb{}
	c := fetch.New(&fetch.Options{Proxy: func(uri.URI) (uri.URI, error) { return uri.URI{}, odd }}, web.load)
	if _, err := c.Get(t.Context(), "http://h/"); !errors.Is(err, odd) || len(web.asked) != 0 {
		t.Errorf("error %v; asked for %q", err, web.urls())
	}
	if _, err := c.Get(t.Context(), "file:///x"); fetch.CodeOf(err) != fetch.ErrNotFound {
		t.Errorf("a URL without a host went through a proxy: %v", err)
	}
}
