package gopher

import (
	"context"
	"io"
	"net"
	"strconv"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

// A conn is the connection of one exchange after the request was sent. The reply ends when the
// server closes it.
type conn struct {
	*wire.Reader
	io.Closer
	net   *fetch.Conn
	trace func(sent bool, line string) // nil without a trace
}

// ask connects to the server of g, sends the request and waits for the first byte of the reply. An
// empty reply is not an error.
func (d *opener) ask(ctx context.Context, g uri.Gopher, req request) (*conn, error) {
	ask := driver.Question{
		Addr:  net.JoinHostPort(g.Host, strconv.Itoa(int(g.Port))),
		Lines: []string{req.line}, Data: req.data.text, Shown: req.data.shown,
	}
	if g.Scheme == "gophers" {
		ask.TLS = d.env.TLSConfig(ctx, g.Host)
	}
	var c *conn
	err := driver.Ask(ctx, d.env, ask, func(nc *fetch.Conn) error {
		nc.EndsUnannounced() // pygopherd does not send close_notify
		c = &conn{wire.NewReader(nc, maxLine), nc, nc, nc.Line()}
		_, err := c.Peek(1)
		return notEOF(err)
	})
	return c, err
}

func (c *conn) traceLine(line string) {
	if c.trace != nil {
		c.trace(false, line)
	}
}
