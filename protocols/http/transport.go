package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/urlget/urlget/fetch/driver"
)

const (
	// maxHeader bounds what comes before a body, informational replies included.
	maxHeader = 256 << 10
	// readBuffer is large. What exceeds it is read straight into the caller's buffer.
	readBuffer = 64 << 10
	// writeBuffer takes the head of most requests whole.
	writeBuffer = 16 << 10

	maxIdleConns = 16 // for each host
	idleTime     = time.Minute

	// cleanup is enough time for net/http to clean up after a stream.
	cleanup = 100 * time.Millisecond
)

// roundTripper returns what answers a request.
func (d *opener) roundTripper() http.RoundTripper {
	switch {
	case d.Transport != nil:
		return d.Transport
	case d.http3 != nil:
		return d.http3
	}
	return overTCP{d}
}

// overTCP sends requests by HTTP/1.1 or HTTP/2: those that http1 does not take by net/http's Transport.
type overTCP struct{ d *opener }

func (t overTCP) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.d.http1.takes(req) {
		return t.d.http1.RoundTrip(req)
	}
	return t.d.transport(req.Context()).RoundTrip(req)
}

// transport returns the connections that a request may use: those made under the same policy and
// proxy.
func (d *opener) transport(ctx context.Context) *http.Transport {
	scope := d.env.Scope(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.transports[scope]
	if !ok {
		if d.transports == nil {
			d.transports = make(map[string]*http.Transport)
		}
		t = d.newTransport()
		d.transports[scope] = t
	}
	return t
}

func (d *opener) newTransport() *http.Transport {
	timeouts := d.env.Timeouts()
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := d.dial(ctx, network, addr)
			if err != nil {
				return nil, err // not a nil *driver.Conn in an interface
			}
			return &plainConn{Conn: conn}, nil
		},
		DialTLSContext:         d.dialTLS,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    max(d.MaxIdle, maxIdleConns),
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxHeader,
		ReadBufferSize:         readBuffer,
		WriteBufferSize:        writeBuffer,
		Protocols:              new(http.Protocols),
		// The connection carries every stream, so that activity on one says nothing about another:
		// pings keep it from seeming idle when a body's reader is slow, and each body has an idle
		// time of its own.
		HTTP2: &http.HTTP2Config{SendPingTimeout: timeouts.Idle / 2, PingTimeout: timeouts.Idle / 2},
	}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(!d.HTTP1)
	return t
}

// dial connects as the policy wants.
func (d *opener) dial(ctx context.Context, network, addr string) (*driver.Conn, error) {
	conn, err := d.env.Dial(ctx, network, addr)
	if err != nil {
		return nil, d.blame(ctx, err)
	}
	conn.SetIdle(idleOfConn(d.env.Timeouts()))
	return conn, nil
}

// blame adds the proxy to the error of a connection that was to go to one.
func (d *opener) blame(ctx context.Context, err error) error {
	proxy, relayed := d.env.Proxy(ctx)
	if !relayed {
		return err
	}
	var own *driver.Error
	if !errors.As(err, &own) || own.Err == nil {
		return fmt.Errorf("proxy %s: %w", proxy.Redacted(), err)
	}
	dup := *own
	dup.Err = fmt.Errorf("proxy %s: %w", proxy.Redacted(), own.Err)
	return &dup
}

func (d *opener) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	_, relayed := d.env.Proxy(ctx)
	switch {
	case d.HTTP1, relayed: // whole URLs have no place in HTTP/2
		return d.dialOffering(ctx, network, addr, "http/1.1")
	case d.HTTP2:
		return d.dialOffering(ctx, network, addr, "h2")
	case d.Single:
		conn, err := d.dialOffering(ctx, network, addr, "http/1.1")
		if alert := (*net.OpError)(nil); !errors.As(err, &alert) || alert.Err.Error() != noApplicationProtocol.Error() {
			return conn, err
		}
	}
	return d.dialOffering(ctx, network, addr, "h2", "http/1.1")
}

// noApplicationProtocol is the alert of servers that speak none of the protocols that they were
// offered (RFC 7301, section 3.2). What crypto/tls returns for one that was received has no type to
// know it by, but the same text.
const noApplicationProtocol tls.AlertError = 120

// dialOffering connects and offers the server these protocols, the first most of all. A server that
// chooses none speaks HTTP/1.1.
func (d *opener) dialOffering(ctx context.Context, network, addr string, protocols ...string) (net.Conn, error) {
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
	if conn.TLS().NegotiatedProtocol == "h2" {
		return conn.NetConn(), nil // net/http knows HTTP/2 by the *tls.Conn
	}
	if len(protocols) == 1 && protocols[0] == "h2" {
		conn.Abort()
		return nil, &driver.Error{Code: driver.ErrTLS, Err: errors.New("the server does not offer HTTP/2")}
	}
	return conn, nil
}

// CloseIdleConnections implements driver.IdleCloser. Net/http does not close an HTTP/2 connection
// whose last stream is just being cleaned up, so there is a second look, and one after each stream
// that outlives the call.
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
