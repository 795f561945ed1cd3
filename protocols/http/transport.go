package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/urlget/urlget/fetch"
)

const (
	// maxHeader limits the head of a response, including informational responses, in bytes.
	maxHeader = 256 << 10
	// readBuffer is large. Reads above it go directly into the caller's buffer.
	readBuffer = 64 << 10
	// headBuffer replaces it for connections of our own, whose bodies of known length are read past it. It
	// holds a small file with its head.
	headBuffer = 16 << 10
	// writeBuffer holds the complete head of most requests.
	writeBuffer = 16 << 10

	// continueTime limits the wait for the permission to send a body (RFC 9110, section 10.1.1). Only
	// relayed requests ask for it.
	continueTime = 2 * time.Second

	maxIdleConns = 16 // for each host
	idleTime     = time.Minute

	// cleanup is the time that net/http needs to clean up after a stream.
	cleanup = 100 * time.Millisecond
)

// roundTripper returns the transport for a request. One that ends its connection uses HTTP/1.1,
// whose connections serve one request at a time.
func (d *opener) roundTripper(req *http.Request) http.RoundTripper {
	switch {
	case d.Transport != nil:
		return d.Transport
	case d.http3 != nil && !req.Close:
		return d.http3
	}
	return overTCP{d}
}

// overTCP sends requests that http1 does not take over HTTP/1.1 or HTTP/2, by net/http's Transport.
type overTCP struct{ d *opener }

func (t overTCP) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.d.transport(req).RoundTrip(req)
}

type transportKey struct {
	scope   string    // see Env.Scope
	version Protocols // HTTP1 offers nothing else, HTTP2 prefers it; 0 for the one of Options
}

// transport returns the transport for requests of the same policy, proxy and version.
func (d *opener) transport(req *http.Request) *http.Transport {
	key := transportKey{d.env.Scope(req.Context()), d.versions.of(req.URL.Host)}
	if req.Close {
		key.version = HTTP1
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.transports[key]
	if !ok {
		if d.transports == nil {
			d.transports = make(map[transportKey]*http.Transport)
		}
		t = d.newTransport()
		d.transports[key] = t
		switch key.version {
		case HTTP1:
			t.Protocols.SetHTTP2(false)
			t.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				return d.dialOffering(ctx, network, addr, "http/1.1")
			}
		case HTTP2:
			t.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				return d.dialOffering(ctx, network, addr, "h2", "http/1.1")
			}
		}
	}
	return t
}

func (d *opener) newTransport() *http.Transport {
	timeouts := d.env.Timeouts()
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := d.dial(ctx, network, addr)
			if err != nil {
				return nil, err // not a nil *fetch.Conn in an interface
			}
			return &plainConn{Conn: conn}, nil
		},
		DialTLSContext:         d.dialTLS,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    max(d.MaxIdle, maxIdleConns),
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxHeader,
		ExpectContinueTimeout:  continueTime,
		ReadBufferSize:         readBuffer,
		WriteBufferSize:        writeBuffer,
		Protocols:              new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			// Net/http answers each frame that is read at once with a WINDOW_UPDATE. Servers whose
			// frames are larger than the 16 KiB of the protocol's default get fewer of them.
			MaxReadFrameSize: readBuffer,
			// The connection carries every stream, so activity on one does not concern another.
			// Pings prevent an idle timeout while a body is read slowly, and each body has its own
			// idle timeout.
			SendPingTimeout: timeouts.Idle / 2,
			PingTimeout:     timeouts.Idle / 2,
		},
	}
	_, http2 := d.Protocols.overTCP()
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(http2)
	return t
}

func (d *opener) dial(ctx context.Context, network, addr string) (*fetch.Conn, error) {
	conn, err := d.env.Dial(ctx, network, addr)
	if err != nil {
		return nil, d.withProxy(ctx, err)
	}
	conn.SetIdle(idleOfConn(d.env.Timeouts()))
	return conn, nil
}

func (d *opener) withProxy(ctx context.Context, err error) error {
	proxy, relayed := d.env.Proxy(ctx)
	if !relayed {
		return err
	}
	var own *fetch.Error
	if !errors.As(err, &own) || own.Err == nil {
		return fmt.Errorf("proxy %s: %w", proxy.Redacted(), err)
	}
	dup := *own
	dup.Err = fmt.Errorf("proxy %s: %w", proxy.Redacted(), own.Err)
	return &dup
}

func (d *opener) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	_, relayed := d.env.Proxy(ctx)
	http1, http2 := d.Protocols.overTCP()
	switch {
	case !http2, relayed: // HTTP/2 has no absolute request targets
		return d.dialOffering(ctx, network, addr, "http/1.1")
	case !http1:
		return d.dialOffering(ctx, network, addr, "h2")
	case d.Single:
		conn, err := d.dialOffering(ctx, network, addr, "http/1.1")
		alert := (*net.OpError)(nil)
		if !errors.As(err, &alert) || alert.Err.Error() != noApplicationProtocol.Error() {
			return conn, err
		}
	}
	return d.dialOffering(ctx, network, addr, "h2", "http/1.1")
}

// noApplicationProtocol is the alert of servers that support none of the offered protocols (RFC
// 7301, section 3.2). crypto/tls returns a received alert without a type, but with the same text.
const noApplicationProtocol tls.AlertError = 120

// dialOffering connects and offers protocols, in order of preference. A server that chooses none
// speaks HTTP/1.1.
func (d *opener) dialOffering(
	ctx context.Context, network, addr string, protocols ...string,
) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	conn, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	cfg := d.env.TLSConfig(ctx, host)
	cfg.NextProtos = protocols
	if err := conn.Handshake(ctx, cfg); err != nil {
		return nil, err
	}
	if conn.TLS().NegotiatedProtocol != "h2" {
		// Servers request a certificate for some paths only. HTTP/2 forbids it (RFC 9113, section 9.2.1).
		cfg.Renegotiation = tls.RenegotiateOnceAsClient
	}
	if conn.TLS().NegotiatedProtocol == "h2" {
		conn.CombineWrites()
		return conn.NetConn(), nil // net/http detects HTTP/2 by the *tls.Conn
	}
	if len(protocols) == 1 && protocols[0] == "h2" {
		conn.Abort()
		return nil, &fetch.Error{Code: fetch.ErrTLS, Err: errors.New("the server does not offer HTTP/2")}
	}
	return &tlsConn{Conn: conn}, nil
}

// CloseIdleConnections implements fetch.IdleCloser. Net/http does not close an HTTP/2 connection
// while its last stream is cleaned up. So it tries again after cleanup, and after each stream that
// outlives the call.
func (d *opener) CloseIdleConnections() {
	d.closings.Add(1)
	d.closeIdle()
	time.AfterFunc(cleanup, d.closeIdle)
}

func (d *opener) closeIdle() {
	d.http1.conns.CloseIdle()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.transports {
		t.CloseIdleConnections()
	}
	if c, ok := d.http3.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
