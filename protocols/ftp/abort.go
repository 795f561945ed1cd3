package ftp

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch"
)

// settleWait and settleTrips limit the wait for the replies to ABOR, in time and in round trips,
// whichever is longer. It costs less than a new login.
const settleWait, settleTrips = time.Second, 4

// maxAbortReplies limits the replies between ABOR and that to the next command.
const maxAbortReplies = 3

// settle reads the replies that an aborted transfer left. RFC 959, section 4.1.3, has two of them: 426
// and 226, or 226 and 225 or 226 if the transfer was complete. Servers may also send one, for either
// command. So settle sends PWD, whose code 257 is that of no other reply, and skips those before it. A
// server that loses commands may lose PWD, and then takes a new login.
func (s *session) settle(ctx context.Context) error {
	c := s.control
	defer c.conn.Bind(ctx)()
	end := time.Now().Add(max(cmp.Or(s.opts.settleWait, settleWait), settleTrips*c.roundTrip))
	if _, err := c.replyWithin(time.Until(end)); err != nil {
		return err
	}
	if err := c.send([]step{{line: "PWD"}}); err != nil {
		return err
	}
	for range maxAbortReplies {
		left := time.Until(end)
		if left <= 0 {
			break
		}
		r, err := c.replyWithin(left)
		if err != nil {
			return err
		}
		if r.Code == 257 {
			s.unsettled.Store(false)
			return nil
		}
	}
	return fmt.Errorf("%w: the replies to ABOR do not end", errUnusable)
}

// lease returns a session for t. Its last transfer may have been aborted. If the server does not
// reply to that in time, the session is closed.
func (d *opener) lease(ctx context.Context, t *task) (lease, error) {
	for {
		l, err := d.pool.Get(ctx, t.key(), func(s *session) bool { return s.isAt(t.cwd) },
			func(ctx context.Context) (*session, error) { return d.dial(ctx, t) })
		if err != nil || !l.Conn.unsettled.Load() {
			return l, err
		}
		if err = l.Conn.settle(ctx); err == nil {
			return l, nil
		}
		l.Conn.broken.Store(true)
		l.Discard()
		if ctx.Err() != nil {
			return nil, err
		}
		d.env.Logger().Debug("the server did not end an aborted transfer; logging in again",
			"server", t.addr(), "error", err)
	}
}

// idleConn returns the connection whose input ends the use of an idle session: none while replies to
// ABOR are expected.
func (s *session) idleConn() (*fetch.Conn, int) {
	if s.unsettled.Load() {
		return nil, 0
	}
	return s.control.conn, s.control.lines.Reader().Buffered()
}
