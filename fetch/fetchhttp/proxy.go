package fetchhttp

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A Proxy is an HTTP proxy (RFC 9110, section 3.7) for URLs of any scheme. It accepts requests with
// an absolute URL, such as "GET gopher://host/1/menu HTTP/1.0", and CONNECT requests; Serve also
// accepts SOCKS5. Requests for its own address are those of a gateway (see [NewGateway]).
//
// Requests are untrusted, as those of a gateway. Those for http and https, and the responses to them, are
// forwarded unchanged, except for what concerns one connection (RFC 9110, section 7.6). Resources of other
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

	// Logger gets a line for each wrong login. It may be nil.
	Logger *slog.Logger

	once     sync.Once
	key      [sha256.Size]byte // of pseudonyms, after once
	attempts attempts
	secure   secureHosts
	find     sync.Once
	schemes  []string // that the gateway may serve, after find
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

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g := p.gateway()
	g.own = ownAddress(r)
	if !p.authorize(w, r) {
		return
	}
	closeAfter(w, r)
	switch {
	case r.ProtoMajor > 1:
		reject(w, http.StatusHTTPVersionNotSupported, "only HTTP/1")
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case r.RequestURI == "*" && r.Method == http.MethodOptions:
		w.Header().Set("Allow", "CONNECT, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, TRACE")
	case r.URL.Scheme == "" && r.Host != "" && p.Login == nil && r.Host != g.own &&
		!isLocalhost(r.Host, g.own):
		http.Error(w, "unknown host name", http.StatusMisdirectedRequest) // DNS rebinding
	case r.URL.Scheme == "" || r.URL.Scheme == "http" && r.URL.Host == g.own:
		g.ServeHTTP(w, r)
	default:
		p.forward(w, r, g, r.RequestURI)
	}
}

// closeAfter ends the connection after requests of HTTP/1.0 (RFC 9112, section 9.3) and chunked ones,
// because net/http does not tell whether such a request also had a length (section 6.1).
func closeAfter(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
		w.Header().Set("Connection", "close")
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

// forward answers a request with an absolute URL.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, g *gateway, absolute string) {
	u, err := uri.ParseRef(absolute) // which encodes what browsers do not
	if err == nil && (u.Host() == "" || !strings.HasPrefix(strings.ToLower(absolute), u.Scheme()+":")) {
		err = errors.New("the URL names no host")
	}
	if err != nil {
		reject(w, http.StatusBadRequest, err.Error())
		return
	}
	if isHTTP(u.Scheme()) {
		p.forwardWeb(w, r, u)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD for "+u.Scheme(), http.StatusMethodNotAllowed)
		return
	}
	req := &fetch.Request{URL: u, From: unknownOrigin(), NoCookies: true}
	Ask(req, r.Header)
	resp, err := retrieve(r.Context(), p.Client, r.Method, req)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	defer resp.Body.Close()
	stateCapture(w.Header(), resp)
	if resp.Kind == fetch.KindListing && resp.Entries != nil {
		g.listing(w, r, resp)
		return
	}
	w.WriteHeader(Describe(w.Header(), resp))
	if r.Method != http.MethodHead {
		sendSoon(w, r, resp)
	}
}

// maxFlushed is the size of a body, in bytes, from which on parts of it may wait in buffers.
const maxFlushed = 1 << 20

// sendSoon copies the body to w, without waiting for full buffers if it is small or of unknown size.
func sendSoon(w http.ResponseWriter, r *http.Request, resp *fetch.Response) {
	if resp.Size >= maxFlushed {
		send(w, r, resp.Body)
		return
	}
	send(flushing{w, http.NewResponseController(w)}, r, resp.Body)
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

// refuse answers a request for another scheme than http that failed with err.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, err error) {
	a := refusal(err)
	if a == nil {
		http.Error(w, fetch.Printable(err.Error()), Status(err))
		return
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead && a.status != http.StatusNotModified {
		send(w, r, a.body)
	}
}
