package http

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/wire"
)

const (
	// maxHeader bounds what comes before a body, informational replies
	// included.
	maxHeader = 256 << 10
	// readBuffer is large, as what comes beyond it is read straight into
	// the caller's buffer.
	readBuffer = 64 << 10

	maxIdleConns = 16 // for each host

	// cleanup is enough for net/http to take leave of a stream.
	cleanup = 100 * time.Millisecond
)

// transport returns the connections that a request may use: those made under
// the same policy and proxy.
func (d *driver) transport(ctx context.Context) *http.Transport {
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

func (d *driver) newTransport() *http.Transport {
	timeouts := d.env.Timeouts()
	t := &http.Transport{
		DialContext:            d.dial,
		DialTLSContext:         d.dialTLS,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    maxIdleConns,
		IdleConnTimeout:        time.Minute,
		ResponseHeaderTimeout:  timeouts.Reply,
		MaxResponseHeaderBytes: maxHeader,
		ReadBufferSize:         readBuffer,
		Protocols:              new(http.Protocols),
		// The connection carries every stream, so what it hears of one says
		// nothing about another: pings keep it from seeming idle when a
		// body's reader is slow, and each body has an idle time of its own.
		HTTP2: &http.HTTP2Config{SendPingTimeout: timeouts.Idle / 2, PingTimeout: timeouts.Idle / 2},
	}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(!d.HTTP1)
	return t
}

// dial connects as the policy wants. The connection's own idle time must not
// cut short the wait for a reply.
func (d *driver) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.env.Dial(ctx, network, addr)
	if err != nil {
		return nil, d.blame(ctx, err)
	}
	timeouts := d.env.Timeouts()
	if c, ok := conn.(*wire.Conn); ok && (timeouts.Reply == 0 || timeouts.Reply > timeouts.Idle) {
		c.SetIdle(timeouts.Reply)
	}
	return conn, nil
}

// blame says of a failed connection that it was one to a proxy, if it was.
func (d *driver) blame(ctx context.Context, err error) error {
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

func (d *driver) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	conn, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	cfg := d.env.TLSConfig(host)
	cfg.NextProtos = []string{"h2", "http/1.1"}
	if _, relayed := d.env.Proxy(ctx); d.HTTP1 || relayed { // whole URLs have no place in HTTP/2
		cfg.NextProtos = cfg.NextProtos[1:]
	}
	tlsConn, err := d.env.Handshake(ctx, conn, cfg)
	if err != nil {
		return nil, err // not a nil *tls.Conn in an interface
	}
	return tlsConn, nil
}

// CloseIdleConnections implements fetch.IdleCloser. Net/http does not close an
// HTTP/2 connection whose last stream is just being cleaned up, so there is a
// second look, and one after each stream that outlives the call.
func (d *driver) CloseIdleConnections() {
	d.closings.Add(1)
	d.closeIdle()
	time.AfterFunc(cleanup, d.closeIdle)
}

func (d *driver) closeIdle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.transports {
		t.CloseIdleConnections()
	}
}
