package driver

import (
	"cmp"
	"context"
	"crypto/tls"
	"io"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// A Question is the request of a text protocol that uses one connection per request, such as
// finger, whois and gopher.
type Question struct {
	Addr string // "host:port"
	// TLS, if not nil, makes the connection use TLS from the start. See Env.TLSConfig.
	TLS *tls.Config
	// Lines are the lines of the request. They are sent together, each followed by CRLF. If Lines
	// is empty, the server speaks first.
	Lines []string
	// Data is sent after the lines, verbatim. If Shown is not empty, recordings get it instead of
	// Data.
	Data, Shown string
}

// Ask performs an exchange. It connects to the server, binds the connection to ctx, sends the
// request and calls begin, which reads as much of the response as it needs to distinguish success
// from failure. All data that begin reads must arrive within the reply timeout.
//
// If Ask returns nil, the caller must close the connection. A line that contains CR, LF or NUL is
// an error, returned before connecting. Errors of begin are returned unchanged.
func Ask(ctx context.Context, env fetch.Env, q Question, begin func(*fetch.Conn) error) error {
	for _, line := range q.Lines {
		if err := wire.CheckLine(line); err != nil {
			return err
		}
	}
	conn, err := env.Dial(ctx, "tcp", q.Addr)
	if err != nil {
		return err
	}
	if q.TLS != nil {
		if err := conn.Handshake(ctx, q.TLS); err != nil {
			return err
		}
	}
	conn.Bind(ctx)
	if err := ask(env, conn, q, begin); err != nil {
		conn.Close()
		return err
	}
	return nil
}

// A Body reads from one value and closes another, such as the connection below a reader.
type Body struct {
	io.Reader
	io.Closer
}

// DropBody closes the body of a response to OpStat, which has metadata only. It returns resp.
func DropBody(req *fetch.Request, resp *fetch.Response) *fetch.Response {
	if req.Op == fetch.OpStat {
		resp.Body.Close()
		resp.Body, resp.Parse = fetch.NoBody, nil
	}
	return resp
}

func ask(env fetch.Env, conn *fetch.Conn, q Question, begin func(*fetch.Conn) error) error {
	if err := wire.Send(conn, q.Lines, q.Data, cmp.Or(q.Shown, q.Data)); err != nil {
		return err
	}
	defer conn.ReplyTimeout(env.Timeouts().Reply)()
	return begin(conn)
}
