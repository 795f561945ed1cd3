package driver

import (
	"cmp"
	"context"
	"crypto/tls"

	"github.com/urlget/urlget/fetch/driver/wire"
)

// A Question is the request of a text protocol in which every exchange has its own connection, such
// as finger, whois and gopher.
type Question struct {
	Addr string // "host:port"
	// TLS, if not nil, is used for TLS from the beginning of the connection. See Env.TLSConfig.
	TLS *tls.Config
	// Lines are the request. They are sent together, each followed by CRLF. If there are none, the
	// answer is what the server says first.
	Lines []string
	// Data follows the lines, verbatim. Recordings get Shown instead if it is not empty.
	Data, Shown string
}

// Ask begins such an exchange. It connects to the server, binds the connection to ctx, sends the
// lines and calls begin, which reads as much of the answer as it takes to tell success from
// failure. All that begin reads must arrive within the reply timeout.
//
// If Ask succeeds, the caller must close the connection; otherwise it is closed already. A line
// that contains CR, LF or NUL is refused before connecting. Errors of begin are returned unchanged.
func Ask(ctx context.Context, env Env, q Question, begin func(*Conn) error) error {
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

func ask(env Env, conn *Conn, q Question, begin func(*Conn) error) error {
	if err := wire.Send(conn, q.Lines, q.Data, cmp.Or(q.Shown, q.Data)); err != nil {
		return err
	}
	defer conn.ReplyTimeout(env.Timeouts().Reply)()
	return begin(conn)
}
