package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/httpauth"
)

type proxyChoice struct {
	url uri.URI // zero for none
	// forward means that the proxy retrieves the URL itself; otherwise it tunnels.
	forward bool
}

// chooseProxy returns the proxy for req. An untrusted request for a host name does not use a proxy
// that would resolve the name, because the rules on addresses could not be applied.
func (c *Client) chooseProxy(req *Request, s Scheme, prov *provenance) (proxyChoice, error) {
	choice, err := c.proxyOf(req, s)
	if err != nil || choice.url.IsZero() || !c.policy.Untrusted || !prov.publicOnly || c.policy.AllowPrivate {
		return choice, err
	}
	if _, err := netip.ParseAddr(req.URL.Host()); err != nil {
		return proxyChoice{}, refusal(Reason{Kind: ReasonProxy},
			"the proxy would resolve %s, and an untrusted request may not name a private address",
			req.URL.Host())
	}
	return choice, nil
}

func (c *Client) proxyOf(req *Request, s Scheme) (proxyChoice, error) {
	if req.URL.Host() == "" {
		return proxyChoice{}, nil
	}
	p, err := c.proxyFor(req.URL, s)
	if err != nil {
		return proxyChoice{}, ErrURL.Errorf("choosing a proxy: %w", err)
	}
	if strings.Contains(p.Path(), "@") { // as in "https//user:password@proxy"
		return proxyChoice{}, ErrURL.Errorf("choosing a proxy: a login is in the path of its URL")
	}
	switch p.Scheme() {
	case "":
		return proxyChoice{}, nil
	case "socks", "socks4", "socks4a", "socks5", "socks5h", "connect":
		return proxyChoice{url: p}, nil
	case "http", "https":
		if rest, ok := strings.CutPrefix(p.String(), "http:"); ok && c.opts.ProxyTunnel {
			p, err = uri.Parse("connect:" + rest)
			return proxyChoice{url: p}, err
		}
		return proxyChoice{url: p, forward: s.ForwardProxy && !c.opts.ProxyTunnel &&
			(req.Op == OpGet || req.Op == OpStat)}, nil
	}
	return proxyChoice{}, &Error{Code: ErrURL, Err: fmt.Errorf("unsupported proxy scheme %q", p.Scheme()),
		Hint: "use http, https, connect, socks4, socks4a, socks5 or socks5h"}
}

func (c *Client) proxyFor(u uri.URI, s Scheme) (uri.URI, error) {
	if isExempt(c.opts.NoProxy, u.Host(), u.Port(s.Port)) {
		return uri.URI{}, nil
	}
	if c.opts.Proxy != nil {
		return c.opts.Proxy(u)
	}
	if len(c.environ) == 0 {
		return uri.URI{}, nil
	}
	return environmentProxy(u, s.Port, func(name string) string {
		if c.opts.NoProxy != "" && strings.EqualFold(name, "no_proxy") {
			return ""
		}
		return c.environ[name]
	})
}

func proxyVariables() map[string]string {
	vars := make(map[string]string)
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasSuffix(strings.ToLower(name), "_proxy") || name == "REQUEST_METHOD" {
			vars[name] = value
		}
	}
	return vars
}

// ProxyFromEnvironment returns the proxy for u that the environment specifies. The variable is
// SCHEME_proxy for the scheme of u, in lower or upper case; HTTP_PROXY is ignored in a CGI program.
// For ws and wss, the variables of http and https also count. If none is set, all_proxy is used.
//
// Hosts in no_proxy are reached directly. It lists names (which include their subdomains),
// addresses and networks, separated by commas or blanks. Each may have a port. An asterisk matches
// every host. Loopback addresses are always reached directly.
//
// ProxyFromEnvironment compares ports in no_proxy with the port in u. A Client that uses the
// environment also considers the default port of the scheme.
func ProxyFromEnvironment(u uri.URI) (uri.URI, error) {
	return environmentProxy(u, 0, os.Getenv)
}

func environmentProxy(u uri.URI, port uint16, getenv func(string) string) (uri.URI, error) {
	value := ""
	for _, scheme := range append(proxiedLike(u.Scheme()), "all") {
		name := scheme + "_proxy"
		if value == "" {
			value = getenv(name)
		}
		if value == "" && (name != "http_proxy" || getenv("REQUEST_METHOD") == "") {
			value = getenv(strings.ToUpper(name))
		}
	}
	if value == "" || isLoopback(u.Host()) {
		return uri.URI{}, nil
	}
	noProxy := getenv("no_proxy")
	if noProxy == "" {
		noProxy = getenv("NO_PROXY")
	}
	if isExempt(noProxy, u.Host(), u.Port(port)) {
		return uri.URI{}, nil
	}
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	p, err := uri.Parse(value)
	if err != nil || p.Host() == "" {
		// the value may contain a password
		return uri.URI{}, fmt.Errorf("the environment's proxy for %s is not a valid URL", u.Scheme())
	}
	return p, nil
}

// proxiedLike returns the schemes whose variables apply to scheme. WebSockets and WebDAV use the proxy of
// HTTP.
func proxiedLike(scheme string) []string {
	switch scheme {
	case "ws", "dav", "webdav":
		return []string{scheme, "http"}
	case "wss", "davs", "webdavs":
		return []string{scheme, "https"}
	}
	return []string{scheme}
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return isLocalhost(host) || err == nil && addr.Unmap().IsLoopback()
}

// dialTunnel connects to addr through a tunnelling proxy, which resolves the name.
func (e *env) dialTunnel(ctx context.Context, p uri.URI, network, addr string) (net.Conn, error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil, refusal(Reason{Kind: ReasonProxy}, "the proxy %s does not support %s", p.Redacted(),
			network)
	}
	var (
		c   net.Conn
		err error
	)
	if _, given := p.User(); given && e.client.refusedLogins.Has(p.String()) {
		return nil, ErrAuth.Errorf("the proxy %s already refused the user name or password",
			p.WithoutUserinfo())
	}
	switch p.Scheme() {
	case "socks5", "socks5h":
		c, err = e.dialSOCKS5(ctx, p, addr)
	case "socks", "socks4", "socks4a": // as in curl, socks means SOCKS4
		c, err = e.dialSOCKS4(ctx, p, addr)
	default:
		c, err = e.dialCONNECT(ctx, p, addr)
	}
	if at, ok := ctx.Deadline(); ok && errors.Is(err, os.ErrDeadlineExceeded) &&
		time.Until(at) < time.Second/100 {
		<-ctx.Done() // the socket has the deadline of ctx, and may time out slightly before it
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	e.noteLogin(p, err)
	switch fetchErr, ok := errors.AsType[*Error](err); {
	case err == nil:
	case !ok:
		return nil, fmt.Errorf("proxy %s: %w", p.Redacted(), err)
	case fetchErr.Code != ErrNetwork:
		return nil, fetchErr
	default:
		dup := *fetchErr
		dup.Err = fmt.Errorf("proxy %s: %w", p.Redacted(), fetchErr.Err)
		return nil, &dup
	}
	return &tunnel{Conn: c, peer: peerName(addr)}, nil
}

// maxProxyLogins limits the logins of which a client knows whether proxies took them.
const maxProxyLogins = 256

// noteLogin records what a proxy made of the login in its URL, so that a wrong password is not sent again
// for each URL: proxies lock accounts after a few failures.
func (e *env) noteLogin(p uri.URI, err error) {
	text := p.String()
	switch _, given := p.User(); {
	case !given:
	case err == nil:
		e.client.takenLogins.Add(text)
	case CodeOf(err) == ErrAuth && !e.client.takenLogins.Has(text):
		e.client.refusedLogins.Add(text)
	}
}

// A tunnel is a connection through a proxy. Its remote address is the name of the target host.
type tunnel struct {
	net.Conn
	peer peerName
}

func (t *tunnel) RemoteAddr() net.Addr { return t.peer }

// SyscallConn implements syscall.Conn, so that Conn.Unread can inspect an idle connection without
// waiting. If TLS is used to the proxy, the socket cannot be inspected.
func (t *tunnel) SyscallConn() (syscall.RawConn, error) {
	if socket, ok := t.Conn.(syscall.Conn); ok {
		return socket.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

type peerName string

func (peerName) Network() string  { return "tcp" }
func (p peerName) String() string { return string(p) }

func (e *env) dialProxy(ctx context.Context, p uri.URI, port uint16) (net.Conn, error) {
	addr := net.JoinHostPort(p.Host(), strconv.Itoa(int(p.Port(port))))
	return e.dialDirect(ctx, &provenance{}, "tcp", addr, 0)
}

const maxConnectReply = 64 << 10

// maxTunnels limits the connections to a proxy for one tunnel: one for the challenge, one for the
// login, and one more if its nonce has expired.
const maxTunnels = 3

// dialCONNECT opens a tunnel with the CONNECT method of HTTP (RFC 9110, section 9.3.6). It sends the
// credentials of the proxy's URL as Basic, or as Digest if the proxy requires it.
func (e *env) dialCONNECT(ctx context.Context, p uri.URI, addr string) (net.Conn, error) {
	var login *httpauth.Digest
	for n := 1; ; n++ {
		c, offered, err := e.dialConnectProxy(ctx, p, addr, login)
		if offered == nil || login != nil && !offered.Stale || n == maxTunnels {
			return c, err
		}
		login = offered
	}
}

// dialConnectProxy makes one attempt with a login; nil means Basic. If the proxy refuses it and the
// attempt can be repeated with Digest, it returns offered.
func (e *env) dialConnectProxy(
	ctx context.Context, p uri.URI, addr string, login *httpauth.Digest,
) (tunnel net.Conn, offered *httpauth.Digest, err error) {
	port := uint16(3128)
	switch p.Scheme() {
	case "http":
		port = 80
	case "https":
		port = 443
	}
	c, err := e.dialProxy(ctx, p, port)
	if err != nil {
		return nil, nil, err
	}
	raw := c
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	if p.Scheme() == "https" {
		// The connection to the proxy is not part of the exchange.
		conn := NewConn(context.Background(), c, Timeouts{Connect: e.client.timeouts.Connect})
		if err := conn.Handshake(withoutValues{ctx}, e.tlsConfig(p.Host())); err != nil {
			stop()
			return nil, nil, err
		}
		c = conn.NetConn()
	}
	offered, err = e.connect(c, p, addr, login)
	if !stop() {
		offered, err = nil, context.Cause(ctx)
	}
	if err != nil {
		c.Close()
		return nil, offered, err
	}
	return c, nil, nil
}

// withoutValues is a context without the values of its parent, by which a function of the TLS
// configuration could choose a client certificate that is meant for the server behind the proxy.
type withoutValues struct{ context.Context }

func (withoutValues) Value(any) any { return nil }

// connect requests the tunnel on c. Basic is sent without a challenge, as RFC 9110, section 11.7.2,
// allows, because most proxies close the connection after a 407 response. See dialConnectProxy for
// login and offered.
func (e *env) connect(
	c net.Conn, p uri.URI, addr string, login *httpauth.Digest,
) (offered *httpauth.Digest, err error) {
	req := &http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Opaque: addr},
		Host:   addr,
		Header: http.Header{"User-Agent": {e.client.opts.Identity.UserAgent}},
	}
	user, hasUser := p.User()
	if hasUser {
		password, _ := p.Password()
		value := httpauth.Basic(user, password)
		if login != nil {
			if value, err = login.Authorization(req, addr, user, password); err != nil {
				return nil, &Error{Code: ErrAuth, Err: err}
			}
		}
		req.Header.Set("Proxy-Authorization", value)
	}
	resp, err := requestTunnel(c, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return nil, nil
	}
	refused := &Error{Code: ErrRefused,
		Reply: Reply{Code: resp.StatusCode, Text: strings.TrimSpace(resp.Status[3:])},
		Err:   fmt.Errorf("the proxy %s did not connect to %s", p.WithoutUserinfo(), addr)}
	switch resp.StatusCode {
	case http.StatusProxyAuthRequired, http.StatusUnauthorized: // tinyproxy sends 401 for a wrong password
		refused.Code, refused.Hint = ErrAuth, proxyLoginHint
		for _, ch := range httpauth.Challenges(resp.Header.Values("Proxy-Authenticate")) {
			if hasUser && offered == nil {
				offered = httpauth.NewDigest(ch)
			}
		}
	}
	return offered, refused
}

// requestTunnel sends a request and returns the head of the final response.
func requestTunnel(c net.Conn, req *http.Request) (*http.Response, error) {
	if err := req.Write(c); err != nil {
		return nil, err
	}
	// Read one byte at a time, because the bytes after the header belong to the tunnel.
	head := &headerReader{conn: c, left: maxConnectReply}
	src := bufio.NewReaderSize(head, 1)
	resp, err := http.ReadResponse(src, req)
	for err == nil && resp.StatusCode/100 == 1 { // RFC 9110, section 15.2: another response follows
		head.last = [4]byte{}
		resp, err = http.ReadResponse(src, req)
	}
	if err != nil {
		return nil, ErrProtocol.Errorf("response of the proxy to CONNECT: %w", err)
	}
	return resp, nil
}

const proxyLoginHint = "add the user name and password to the proxy URL"

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
