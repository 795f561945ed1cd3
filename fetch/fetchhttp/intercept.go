package fetchhttp

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// tlsHandshake is the first byte of a TLS connection (RFC 8446, section 5.1).
const tlsHandshake = 22

// The proxy waits for the first byte of a client to recognize TLS. The server speaks first in other
// protocols, but hardly on the port of https, where a slow client must not get past the proxy.
const (
	peekTime  = 500 * time.Millisecond
	httpsTime = time.Minute // on port 443
)

// speaksTLS reports whether the client begins a TLS connection, and returns a connection with all its
// bytes.
func speaksTLS(c net.Conn, port string) (net.Conn, bool) {
	r := bufio.NewReader(c)
	limit := peekTime
	if port == "443" {
		limit = httpsTime
	}
	c.SetReadDeadline(time.Now().Add(limit))
	first, err := r.Peek(1)
	c.SetReadDeadline(time.Time{})
	return readWriter{Reader: r, Conn: c}, err == nil && first[0] == tlsHandshake
}

// intercept serves HTTP over TLS to a client that wants a connection to a host and port. It answers with
// a certificate of the Authority, and sends the requests to the server over TLS of its own, which
// verifies the certificate of the server.
func (p *Proxy) intercept(ctx context.Context, c net.Conn, hostPort string) {
	host, port, err := net.SplitHostPort(hostPort)
	root, wrong := uri.Parse("https://" + hostPort + "/")
	if err != nil || wrong != nil {
		c.Close()
		return
	}
	if port == "443" {
		root = root.WithoutPort(443)
	}
	cfg := &tls.Config{NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return p.Authority.certificate(host)
		}}
	g := p.gateway()
	base := strings.TrimSuffix(root.String(), "/")
	one := &oneConn{conn: tls.Server(c, cfg), closed: make(chan struct{})}
	server := newServer(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.RequestURI, "/") {
			http.Error(w, "the request has no path", http.StatusBadRequest)
			return
		}
		if r.Header.Get("Upgrade") != "" {
			if p.upgrade(w, r, hostPort) {
				one.Close()
			}
			return
		}
		p.forward(w, r, g, base+r.RequestURI)
	}))
	server.ErrorLog = log.New(io.Discard, "", 0) // errors of clients
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			one.Close()
		}
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	server.Serve(one)
	server.Close()
}

// upgrade passes on a request for another protocol, such as a WebSocket (RFC 9110, section 7.8), and all
// that follows it, without recording it. It reports whether the connection was used for that; otherwise
// it has answered the request.
func (p *Proxy) upgrade(w http.ResponseWriter, r *http.Request, hostPort string) bool {
	far, err := p.dial(r.Context(), tlsTunnelScheme, hostPort)
	if err != nil {
		http.Error(w, fetch.Printable(err.Error()), Status(err))
		return false
	}
	c, err := hijack(w)
	if err != nil {
		far.Close()
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return false
	}
	r.Header.Add("Via", via)
	if r.Write(far) != nil {
		far.Close()
		c.Close()
		return true
	}
	join(r.Context(), c, far)
	return true
}

// A oneConn is a listener with one connection. It is closed when the connection is.
type oneConn struct {
	conn   net.Conn
	taken  bool // used by Accept only
	once   sync.Once
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if !l.taken {
		l.taken = true
		return l.conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }
