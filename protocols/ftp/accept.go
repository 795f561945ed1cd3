package ftp

import (
	"context"
	"errors"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// lateWait limits the wait for a data connection after the final reply of its transfer. The server
// connected before the reply, so only Accept remains.
const lateWait = time.Second

type pendingConn struct {
	listener
	accepted chan struct{} // closed when conn and err are set
	conn     *fetch.Conn
	err      error
}

func await(l listener) *pendingConn {
	p := &pendingConn{listener: l, accepted: make(chan struct{})}
	go func() {
		p.conn, p.err = l.Accept()
		close(p.accepted)
	}()
	return p
}

func (p *pendingConn) wait(ctx context.Context) (*fetch.Conn, error) {
	<-p.accepted
	if p.err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return p.conn, p.err
}

// giveUp also closes a connection that is accepted at that moment.
func (p *pendingConn) giveUp() {
	p.Close()
	if <-p.accepted; p.conn != nil {
		p.conn.Close()
	}
}

// accept waits for the server to connect or to send a negative reply, at most for the connect
// timeout. If the server reports the end of the transfer, final is that reply. Without a connection
// there was nothing to transfer.
func (c *control) accept(
	ctx context.Context, l listener, command string,
) (conn *fetch.Conn, final *wire.Reply, err error) {
	if limit := c.env.Timeouts().Connect; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit,
			fetch.ErrNetwork.Retryf("the server did not connect within %v", limit))
		defer cancel()
	}
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	data, spoke := await(l), make(chan error, 1)
	go func() {
		_, err := c.lines.Reader().Peek(1) // the reply is read below, or after the transfer
		spoke <- err
	}()
	select {
	case <-data.accepted:
		c.conn.SetReadDeadline(time.Unix(1, 0))
		<-spoke
		c.conn.SetReadDeadline(time.Time{})
		conn, err = data.wait(ctx)
		return conn, nil, err
	case err = <-spoke:
	}
	if errors.As(err, new(*wire.TimeoutError)) { // the server may be silent until it has connected
		conn, err = data.wait(ctx)
		return conn, nil, err
	}
	var r wire.Reply
	if err == nil {
		r, err = c.reply()
	}
	switch {
	case err == nil && r.Code/100 == 1: // a preliminary reply before the connection
		conn, err = data.wait(ctx)
		return conn, nil, err
	case err == nil && r.Code/100 == 2:
		late := time.AfterFunc(lateWait, func() { l.Close() })
		defer late.Stop()
		if conn, err = data.wait(ctx); ctx.Err() == nil {
			err = nil // without a connection, too
		}
		return conn, &r, err
	}
	data.giveUp()
	switch {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		return nil, nil, noReply(command, err)
	}
	return nil, nil, refusal(command, r)
}
