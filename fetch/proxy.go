package fetch

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"
	xproxy "golang.org/x/net/proxy"

	"github.com/urlget/urlget/fetch/uri"
)

// A proxyChoice is where a request goes instead of its host.
type proxyChoice struct {
	url uri.URI // zero for none
	// relay is true if the proxy retrieves the URL itself; else it tunnels.
	relay bool
}

// chooseProxy asks Options.Proxy where req goes.
func (c *Client) chooseProxy(req *Request, s Scheme) (proxyChoice, error) {
	if req.URL.Host() == "" {
		return proxyChoice{}, nil
	}
	p, err := c.proxy(req.URL)
	if err != nil {
		return proxyChoice{}, &Error{Code: ErrURL, Err: fmt.Errorf("choosing a proxy: %w", err)}
	}
	switch p.Scheme() {
	case "":
		return proxyChoice{}, nil
	case "socks5", "socks5h", "connect":
		return proxyChoice{url: p}, nil
	case "http", "https":
		return proxyChoice{url: p, relay: s.Relayed && (req.Op == OpGet || req.Op == OpStat)}, nil
	}
	return proxyChoice{}, &Error{Code: ErrURL, Err: fmt.Errorf("no proxies of scheme %q", p.Scheme()),
		Hint: "use http, https, connect, socks5 or socks5h"}
}

// ProxyFromEnvironment reads the usual variables: SCHEME_proxy for the URL's
// scheme (in lower case, or in upper case except HTTP_PROXY in a CGI
// program), all_proxy for what has none of its own, and no_proxy for hosts to
// reach directly. Loopback addresses are always reached directly.
func ProxyFromEnvironment(u uri.URI) (uri.URI, error) {
	return environmentProxy(u, os.Getenv)
}

func environmentProxy(u uri.URI, getenv func(string) string) (uri.URI, error) {
	name := u.Scheme() + "_proxy"
	value := getenv(name)
	if value == "" && (name != "http_proxy" || getenv("REQUEST_METHOD") == "") {
		value = getenv(strings.ToUpper(name))
	}
	for _, name := range []string{"all_proxy", "ALL_PROXY"} {
		if value == "" {
			value = getenv(name)
		}
	}
	if value == "" {
		return uri.URI{}, nil
	}
	noProxy := getenv("no_proxy")
	if noProxy == "" {
		noProxy = getenv("NO_PROXY")
	}
	// Only the rules of no_proxy are wanted from there.
	cfg := httpproxy.Config{HTTPProxy: "http://proxy.invalid", NoProxy: noProxy}
	target := &url.URL{Scheme: "http", Host: net.JoinHostPort(u.Host(), strconv.Itoa(int(u.Port(80))))}
	if p, err := cfg.ProxyFunc()(target); p == nil || err != nil {
		return uri.URI{}, err
	}
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	p, err := uri.Parse(value)
	if err != nil || p.Host() == "" {
		return uri.URI{}, fmt.Errorf("the environment's proxy for %s is no URL", u.Scheme()) // it may hold a password
	}
	return p, nil
}

// dialTunnel connects to addr through a proxy that passes octets on. The
// proxy resolves the name.
func (e *Env) dialTunnel(ctx context.Context, p uri.URI, network, addr string) (net.Conn, error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil, refusal("%s does not pass the proxy %s", network, p.Redacted()).
			withHint("reach the host directly with --no-proxy")
	}
	var (
		c   net.Conn
		err error
	)
	switch p.Scheme() {
	case "socks5", "socks5h":
		c, err = e.dialSOCKS(ctx, p, addr)
	default:
		c, err = e.dialCONNECT(ctx, p, addr)
	}
	if err != nil {
		var own *Error
		if errors.As(err, &own) {
			return nil, own
		}
		return nil, fmt.Errorf("proxy %s: %w", p.Redacted(), err)
	}
	return &tunnel{Conn: c, peer: peerName(addr)}, nil
}

// A tunnel is a connection through a proxy. Its peer is the host at the far
// end, by name.
type tunnel struct {
	net.Conn
	peer peerName
}

func (t *tunnel) RemoteAddr() net.Addr { return t.peer }

type peerName string

func (peerName) Network() string  { return "tcp" }
func (p peerName) String() string { return string(p) }

func (e *Env) dialProxy(ctx context.Context, p uri.URI, port uint16) (net.Conn, error) {
	addr := net.JoinHostPort(p.Host(), strconv.Itoa(int(p.Port(port))))
	return e.dialDirect(ctx, &provenance{}, "tcp", addr, 0)
}

// forward lets the SOCKS client dial the proxy as Env does.
type forward func(ctx context.Context, network, addr string) (net.Conn, error)

func (f forward) Dial(network, addr string) (net.Conn, error) {
	return f(context.Background(), network, addr)
}

func (f forward) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return f(ctx, network, addr)
}

// dialSOCKS speaks SOCKS5 (RFC 1928) with user and password (RFC 1929) if the
// proxy's URL holds them.
func (e *Env) dialSOCKS(ctx context.Context, p uri.URI, addr string) (net.Conn, error) {
	var auth *xproxy.Auth
	if user, ok := p.User(); ok {
		password, _ := p.Password()
		auth = &xproxy.Auth{User: user, Password: password}
	}
	dialProxy := forward(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return e.dialProxy(ctx, p, 1080)
	})
	d, err := xproxy.SOCKS5("tcp", p.Host(), auth, dialProxy)
	if err != nil {
		return nil, err
	}
	return d.(xproxy.ContextDialer).DialContext(ctx, "tcp", addr)
}

// maxConnectReply bounds a proxy's answer to CONNECT.
const maxConnectReply = 64 << 10

// dialCONNECT opens a tunnel by HTTP's CONNECT (RFC 9110, section 9.3.6).
func (e *Env) dialCONNECT(ctx context.Context, p uri.URI, addr string) (net.Conn, error) {
	port := uint16(3128)
	switch p.Scheme() {
	case "http":
		port = 80
	case "https":
		port = 443
	}
	c, err := e.dialProxy(ctx, p, port)
	if err != nil {
		return nil, err
	}
	raw := c
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	if p.Scheme() == "https" {
		if c, err = e.Handshake(ctx, c, e.TLSConfig(p.Host())); err != nil {
			stop()
			return nil, err
		}
	}
	err = e.connect(ctx, c, p, addr)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// connect asks for the tunnel on c. A proxy that wants credentials is
// answered with basic authentication at once, if the URL holds them, as most
// of them close the connection after 407.
func (e *Env) connect(ctx context.Context, c net.Conn, p uri.URI, addr string) error {
	req := &http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Opaque: addr},
		Host:   addr,
		Header: http.Header{"User-Agent": {e.client.opts.Identity.UserAgent}},
	}
	if user, ok := p.User(); ok {
		password, _ := p.Password()
		req.Header.Set("Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	}
	if err := req.Write(c); err != nil {
		return err
	}
	// One octet at a time, as what follows the header belongs to the tunnel.
	resp, err := http.ReadResponse(bufio.NewReaderSize(&headerReader{conn: c, left: maxConnectReply}, 1), req)
	if err != nil {
		return &Error{Code: ErrProtocol, Err: fmt.Errorf("the proxy's answer to CONNECT: %w", err)}
	}
	if resp.StatusCode/100 == 2 {
		return nil
	}
	refused := &Error{Code: ErrRefused, Reply: Reply{Code: resp.StatusCode, Text: strings.TrimSpace(resp.Status[3:])},
		Err: fmt.Errorf("the proxy %s did not connect to %s", p.WithoutUserinfo(), addr)}
	if resp.StatusCode == http.StatusProxyAuthRequired {
		refused.Code, refused.Hint = ErrAuth, "put user and password into the proxy's URL"
	}
	return refused
}

// A headerReader reads no further than the blank line that ends a header.
type headerReader struct {
	conn net.Conn
	left int
	last [4]byte
}

func (r *headerReader) Read(p []byte) (int, error) {
	if r.left--; r.left < 0 {
		return 0, errors.New("header too long")
	}
	if r.last == [4]byte{'\r', '\n', '\r', '\n'} {
		return 0, errors.New("read past the header")
	}
	n, err := r.conn.Read(p[:1])
	if n == 1 {
		r.last = [4]byte{r.last[1], r.last[2], r.last[3], p[0]}
	}
	return n, err
}
