package ftp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// lateWait is how long a data connection is waited for after the reply that ends its transfer: it
// was made before, so that it only has to be noticed.
const lateWait = time.Second

// accept waits, up to the connect timeout, for the server to connect, or to say that it does not. If
// it says that the transfer to command is over, final is that reply; without a connection, there was
// nothing to transfer.
func (c *control) accept(ctx context.Context, l listener, command string) (conn *driver.Conn, final *wire.Reply, err error) {
	if limit := c.env.Timeouts().Connect; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit,
			&driver.Error{Code: driver.ErrNetwork, Retry: true, Err: fmt.Errorf("the server did not connect within %v", limit)})
		defer cancel()
	}
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	type accepted struct {
		conn *driver.Conn
		err  error
	}
	came, spoke := make(chan accepted, 1), make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		came <- accepted{conn, err}
	}()
	go func() {
		_, err := c.lines.Reader().Peek(1) // what has come is read below, or after the transfer
		spoke <- err
	}()
	result := func(a accepted) (*driver.Conn, *wire.Reply, error) {
		if a.err != nil && ctx.Err() != nil {
			a.err = context.Cause(ctx)
		}
		return a.conn, final, a.err
	}
	select {
	case a := <-came:
		c.conn.SetReadDeadline(time.Unix(1, 0))
		<-spoke
		c.conn.SetReadDeadline(time.Time{})
		return result(a)
	case err = <-spoke:
	}
	if errors.As(err, new(*wire.TimeoutError)) { // it is silent, as it may be until it has connected
		return result(<-came)
	}
	var r wire.Reply
	if err == nil {
		r, err = c.reply()
	}
	switch {
	case err == nil && r.Code/100 == 1: // it said so before
		return result(<-came)
	case err == nil && r.Code/100 == 2:
		final = &r
		late := time.AfterFunc(lateWait, func() { l.Close() })
		defer late.Stop()
		if a := <-came; a.conn != nil || ctx.Err() != nil {
			return result(a)
		}
		return nil, final, nil
	}
	l.Close()
	if a := <-came; a.conn != nil {
		a.conn.Close()
	}
	switch {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		return nil, nil, noReply(command, err)
	}
	return nil, nil, refusal(command, r)
}
