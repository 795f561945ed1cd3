package fetchhttp

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/drain"
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
// verifies the certificate of the server. The name that the client asks for (SNI) is that of the server,
// because a client may have resolved it itself.
func (p *Proxy) intercept(ctx context.Context, c net.Conn, hostPort string) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		c.Close()
		return
	}
	cfg := &tls.Config{NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			root, err := secureRoot(cmp.Or(hello.ServerName, host), port)
			if err != nil {
				return nil, err
			}
			return p.Authority.certificate(root.Host())
		}}
	g := p.gateway()
	one := &oneConn{conn: tls.Server(c, cfg), closed: make(chan struct{})}
	server := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		closeAfter(w, r)
		root, err := secureRoot(cmp.Or(r.TLS.ServerName, host), port)
		switch {
		case err != nil || !strings.HasPrefix(r.RequestURI, "/") && r.RequestURI != "*":
			http.Error(w, "the request has no path", http.StatusBadRequest)
		case r.Host != "" && !isHost(r.Host, root):
			http.Error(w, "the connection is for another host", http.StatusMisdirectedRequest)
		case wantsUpgrade(r):
			if p.upgrade(w, r, root) {
				one.Close()
			}
		default:
			p.forward(w, r, g, strings.TrimSuffix(root.String(), "/")+strings.TrimPrefix(r.RequestURI, "*"))
		}
	}))
	server.ErrorLog = log.New(io.Discard, "", 0) // errors of clients
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			one.Close()
		}
	}
	drain.Serve(ctx, server, one)
}

// secureRoot returns the URL of https for a host and port.
func secureRoot(host, port string) (uri.URI, error) {
	root, err := uri.Parse("https://" + net.JoinHostPort(host, port) + "/")
	if err == nil && (root.Host() == "" || root.Path() != "/") {
		err = errors.New("fetchhttp: not the name of a host")
	}
	return root.WithoutPort(443), err
}

// isHost reports whether the field Host of a request names the host and port of root.
func isHost(field string, root uri.URI) bool {
	named, err := uri.Parse("https://" + field + "/")
	return err == nil && named.WithoutPort(443).Origin() == root.Origin()
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
