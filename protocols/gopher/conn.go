package gopher

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strconv"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
)

// A conn is the connection of one exchange: a request went out, the reply is
// to be read. It ends when the server closes it.
type conn struct {
	*wire.Reader
	net     net.Conn
	wire    *wire.Conn // below net
	release func() bool
}

// ask connects to the server of g, sends the request and waits for the first
// octet of the reply. An empty reply is no error.
func (d *driver) ask(ctx context.Context, g uri.Gopher, req request) (*conn, error) {
	c, err := d.connect(ctx, g)
	if err != nil {
		return nil, err
	}
	d.trace(true, req.shown()...)
	if _, err := io.WriteString(c.net, req.line+"\r\n"+req.data.text); err != nil {
		c.Close()
		return nil, err
	}
	timeouts := d.env.Timeouts()
	c.wire.SetIdle(timeouts.Reply)
	defer c.wire.SetIdle(timeouts.Idle)
	if _, err := c.Peek(1); err != nil && err != io.EOF {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (d *driver) connect(ctx context.Context, g uri.Gopher) (*conn, error) {
	nc, err := d.env.Dial(ctx, "tcp", net.JoinHostPort(g.Host, strconv.Itoa(int(g.Port))))
	if err != nil {
		return nil, err
	}
	c := &conn{net: nc, wire: nc.(*wire.Conn)}
	source := io.Reader(nc)
	if g.Scheme == "gophers" {
		t, err := d.env.Handshake(ctx, nc, d.env.TLSConfig(g.Host))
		if err != nil {
			return nil, err
		}
		c.net, source = t, tlsReader{t}
	}
	c.Reader, c.release = wire.NewReader(source, maxLine), c.wire.Bind(ctx)
	return c, nil
}

// Close closes the connection without waiting for the server.
func (c *conn) Close() error {
	c.release()
	c.net.Close()
	return nil
}

// A tlsReader tells a connection that was cut within a TLS record from one
// that was closed, which is how Gopher ends everything.
type tlsReader struct{ *tls.Conn }

func (r tlsReader) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if err == io.ErrUnexpectedEOF {
		err = &fetch.Error{Code: fetch.ErrTruncated, Retry: true, Err: errors.New("the connection was cut within a TLS record")}
	}
	return n, err
}
