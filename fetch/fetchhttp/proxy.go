package fetchhttp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A Proxy is an HTTP proxy (RFC 9110, section 3.7) for URLs of any scheme. It accepts requests with
// an absolute URL, such as "GET gopher://host/1/menu HTTP/1.0", and CONNECT requests; Serve also
// accepts SOCKS5. Requests for its own address are those of a gateway (see [NewGateway]).
//
// Requests are untrusted, as those of a gateway. Requests for http and https are forwarded with
// their method, fields and body. Redirects, refusals and error pages are the responses of the
// server, whose pages are as long as MaxErrorBody of the client's options allows. Resources of other
// schemes are retrieved with GET and HEAD. Listings become HTML pages without styles, in ASCII.
type Proxy struct {
	// Client retrieves resources. It should have no credentials. Its cookie jar is not used: each client
	// of the proxy sends its own cookies.
	Client *fetch.Client
	// Tunnels opens the connections of CONNECT and SOCKS5. It should have the scheme of LoadTunnel,
	// Policy.AllowSessions and no idle timeout. If Tunnels is nil, such requests are refused.
	Tunnels *fetch.Client
	// Login is the user and password that clients must have, or nil. Without it, a proxy must only be
	// reachable by its user.
	Login *fetch.Credential
	// Authority, if not nil, makes the proxy read the TLS connections that clients open through it:
	// it answers with certificates of the authority, which the clients must trust, and retrieves
	// the resources as those of http.
	Authority *Authority
	// Downgrade serves resources of https to clients that ask for them with http, because they have no
	// TLS that servers accept. Links to https become links to http.
	Downgrade bool

	secure  secureHosts
	find    sync.Once
	schemes []string // that the gateway may serve, after find
}

const (
	tunnelScheme    = "x-tunnel"     // connections that transfer bytes unchanged
	tlsTunnelScheme = "x-tls-tunnel" // the same over TLS of the proxy
)

// LoadTunnel registers the schemes of [Proxy.Tunnels]: connections to a host and port, by default 443,
// without and with TLS.
func LoadTunnel(env fetch.Env, reg *fetch.Registry) {
	for _, name := range []string{tunnelScheme, tlsTunnelScheme} {
		reg.Register(fetch.Scheme{Name: name, Port: 443, Ops: []fetch.Op{fetch.OpDial},
			Summary: "a connection",
			Driver: fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				conn, err := env.Dial(ctx, "tcp",
					net.JoinHostPort(req.URL.Host(), strconv.Itoa(int(req.URL.Port(443)))))
				if err == nil && name == tlsTunnelScheme {
					cfg := env.TLSConfig(ctx, req.URL.Host())
					cfg.NextProtos = []string{"http/1.1"}
					err = conn.Handshake(ctx, cfg)
				}
				if err != nil {
					return nil, err
				}
				return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindSession, Size: -1}, Body: conn}, nil
			})})
	}
}

// via is the value of the field Via in forwarded messages (RFC 9110, section 7.6.3).
const via = "1.1 urlget"

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g := p.gateway()
	g.own = ownAddress(r)
	if !p.authorize(w, r) {
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case r.URL.Scheme == "" && r.Host != "" && p.Login == nil && r.Host != g.own &&
		!isLocalhost(r.Host, g.own):
		http.Error(w, "unknown host name", http.StatusMisdirectedRequest) // DNS rebinding
	case r.URL.Scheme == "" || r.URL.Scheme == "http" && r.URL.Host == g.own:
		g.ServeHTTP(w, r)
	default:
		p.forward(w, r, g, r.RequestURI)
	}
}

// Address returns the URL of a server that listens on host, a host and port.
func Address(host string) string { return "http://" + host + "/" }

// ownAddress returns the address at which the client has reached the server.
func ownAddress(r *http.Request) string {
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return a.String()
	}
	return ""
}

func isLocalhost(host, own string) bool {
	port, ok := strings.CutPrefix(host, "localhost:")
	return ok && strings.HasSuffix(own, ":"+port)
}

// gateway returns the gateway for requests that are not those of a proxy.
func (p *Proxy) gateway() *gateway {
	p.find.Do(func() { p.schemes = retrievable(p.Client) })
	return &gateway{client: p.Client, schemes: p.schemes}
}

// retrievable returns the schemes of remote resources that a client can retrieve.
func retrievable(c *fetch.Client) (names []string) {
	for _, s := range c.Schemes() {
		if s.Retrieves() && !s.Local {
			names = append(names, s.Name)
		}
	}
	return names
}

var errRedirected = errors.New("redirected")

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, g *gateway, absolute string) {
	u, err := uri.Parse(absolute)
	if err == nil && !u.IsAbs() {
		err = errors.New("the URL is not absolute")
	}
	if err != nil {
		http.Error(w, fetch.Printable(err.Error()), http.StatusBadRequest)
		return
	}
	downgrade := p.Downgrade && u.Scheme() == "http"
	if downgrade {
		u = p.upgraded(u)
		r.Header.Del("Accept-Encoding") // links are replaced
	}
	web := isHTTP(u.Scheme())
	if !web && r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD for "+u.Scheme(), http.StatusMethodNotAllowed)
		return
	}
	req := &fetch.Request{URL: u, From: unknownOrigin, NoCookies: true}
	Ask(req, r.Header)
	var target uri.URI
	if web {
		copyRequest(req, r)
		req.Redirect = func(to uri.URI) error {
			target = to
			return errRedirected
		}
	}
	resp, err := retrieve(r.Context(), p.Client, r.Method, req)
	if err != nil {
		if downgrade && req.Body == nil && p.isUpgrade(u, target) {
			p.forward(w, r, g, absolute) // is upgraded now
			return
		}
		p.refuse(w, r, err, p.location(target, downgrade))
		return
	}
	defer resp.Body.Close()
	switch {
	case web:
		maps.Copy(w.Header(), allFields(resp))
		if downgrade {
			p.downgrade(w.Header(), resp)
		}
		w.Header().Add("Via", via)
		w.WriteHeader(status(resp))
	case resp.Kind == fetch.KindListing && resp.Entries != nil:
		g.listing(w, r, resp)
		return
	default:
		w.WriteHeader(Describe(w.Header(), resp))
	}
	if r.Method != http.MethodHead {
		sendSoon(w, resp)
	}
}

// maxFlushed is the size of a body, in bytes, from which on parts of it may wait in buffers.
const maxFlushed = 1 << 20

// sendSoon copies the body to w, without waiting for full buffers if it is small or of unknown size.
func sendSoon(w http.ResponseWriter, resp *fetch.Response) {
	if resp.Size >= maxFlushed {
		send(w, resp.Body)
		return
	}
	send(flushing{w, http.NewResponseController(w)}, resp.Body)
}

// copyRequest adds what a server of HTTP gets of a request: the fields, the method and the body.
func copyRequest(req *fetch.Request, r *http.Request) {
	req.Accept = nil // the field is forwarded as it is
	req.Header = forwardedFields(r.Header)
	req.Header.Del("Proxy-Authorization")
	req.Header.Add("Via", via)
	if r.ContentLength != 0 {
		req.Body, req.ContentLength = r.Body, r.ContentLength
	}
	isDefault := r.Method == http.MethodGet && req.Body == nil // with a body, it is POST
	if r.Method != http.MethodHead && !isDefault {
		req.Method = r.Method
	}
}

// A flushing writer sends what it has after each write, so that a slow transfer is visible.
type flushing struct {
	io.Writer
	c *http.ResponseController
}

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	if err == nil && len(p) < 32<<10 {
		err = f.c.Flush()
	}
	return n, err
}

// refuse answers a request that failed with err, or was redirected to location.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, err error, location string) {
	var e *fetch.Error
	a := refusal(err)
	switch {
	case errors.Is(err, errRedirected) && errors.As(err, &e):
		a = httpRefusal(&fetch.Error{Header: e.Header, Reply: e.Reply},
			cmp.Or(e.Reply.Code, http.StatusFound))
		a.header.Del("Content-Length") // the content of a redirect is not kept
		a.header.Set("Location", location)
		a.body = http.NoBody
	case a == nil:
		http.Error(w, fetch.Printable(err.Error()), Status(err))
		return
	}
	maps.Copy(w.Header(), a.header)
	w.Header().Add("Via", via)
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead && a.status != http.StatusNotModified {
		send(w, a.body)
	}
}

func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	if p.Authority != nil {
		if near := takeOver(w); near != nil {
			defer near.Close()
			p.read(r.Context(), near, r.Host)
		}
		return
	}
	far, err := p.dial(r.Context(), tunnelScheme, r.Host)
	if err != nil {
		http.Error(w, fetch.Printable(err.Error()), Status(err))
		return
	}
	near := takeOver(w)
	if near == nil {
		far.Close()
		return
	}
	join(r.Context(), near, far)
}

// takeOver tells the client that it has a connection, and returns its end, or nil if that fails.
func takeOver(w http.ResponseWriter) net.Conn {
	c, err := hijack(w)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return nil
	}
	if _, err = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		c.Close()
		return nil
	}
	return c
}

// hijack returns the connection of a request, with the bytes that have been read ahead. It does not use
// the reader of [http.Hijacker] after that: at every error, such as a deadline or the end of the client's
// output, that reader cancels the context of the request.
func hijack(w http.ResponseWriter) (net.Conn, error) {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Time{})
	ahead, _ := rw.Reader.Peek(rw.Reader.Buffered()) // it can't fail
	return readWriter{Reader: io.MultiReader(bytes.NewReader(ahead), c), Conn: c}, nil
}

// read serves a client that has a connection to a host and port: it intercepts TLS, and passes on other
// protocols.
func (p *Proxy) read(ctx context.Context, c net.Conn, hostPort string) {
	_, port, _ := net.SplitHostPort(hostPort) // intercept and dial report errors
	conn, isTLS := speaksTLS(c, port)
	if isTLS {
		p.intercept(ctx, conn, hostPort)
		return
	}
	if far, err := p.dial(ctx, tunnelScheme, hostPort); err == nil {
		join(ctx, conn, far)
	}
}

// A readWriter is a connection whose first bytes have been buffered.
type readWriter struct {
	io.Reader
	net.Conn
	closed func() // called by Close; may be nil
}

func (c readWriter) Close() error {
	if c.closed != nil {
		c.closed()
	}
	return c.Conn.Close()
}

func (c readWriter) Read(p []byte) (int, error) { return c.Reader.Read(p) }

// ReadFrom lets the kernel move the bytes, where it can.
func (c readWriter) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

func (c readWriter) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite ends the output of a connection, if it can be ended alone.
func closeWrite(c io.Writer) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// dial connects to a host and port that an untrusted client has named, with a scheme of LoadTunnel.
func (p *Proxy) dial(ctx context.Context, scheme, hostPort string) (io.ReadWriteCloser, error) {
	if p.Tunnels == nil {
		return nil, &fetch.Error{Op: "connect", URL: hostPort, Code: fetch.ErrPolicy,
			Err: errors.New("there are no tunnels")}
	}
	host, port, err := net.SplitHostPort(hostPort)
	if err == nil && (host == "" || strings.ContainsAny(host, "/?#@")) {
		err = errors.New("no host name")
	}
	if err != nil {
		return nil, &fetch.Error{Op: "connect", URL: fetch.Printable(hostPort), Code: fetch.ErrURL, Err: err}
	}
	u, err := uri.Parse(scheme + "://" + net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	req := &fetch.Request{URL: u, Op: fetch.OpDial, From: unknownOrigin, Anonymous: true}
	resp, err := p.Tunnels.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	rw, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		resp.Body.Close()
		return nil, fmt.Errorf("fetchhttp: %s is not a connection", scheme)
	}
	return rw, nil
}

// join copies in both directions until both are at their end, or one fails, or ctx ends.
func join(ctx context.Context, near, far io.ReadWriteCloser) {
	closeBoth := func() {
		near.Close()
		far.Close()
	}
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	ended := make(chan error, 2)
	transfer := func(to io.Writer, from io.Reader) {
		_, err := io.Copy(to, from)
		if err == nil {
			err = closeWrite(to)
		}
		if err != nil {
			closeBoth()
		}
		ended <- err
	}
	go transfer(far, near)
	go transfer(near, far)
	<-ended
	<-ended
}
