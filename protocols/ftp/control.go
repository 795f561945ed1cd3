package ftp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

const (
	// quitWait bounds the sending of QUIT, whose reply nobody waits for.
	quitWait = time.Second
	// maxPreliminary bounds the replies that announce another.
	maxPreliminary = 8
)

// A control is the control connection to a server (RFC 959, section 2.3).
type control struct {
	env        driver.Env
	addr, host string
	implicit   bool // TLS from the start

	pipelining *pipelining
	reader     bool          // it calls itself a server that reads on
	roundTrip  time.Duration // the shortest of those seen; 0 before

	conn  *driver.Conn
	lines *wire.Lines
	tls   *tls.Config // in force, for data connections too
}

func (c *control) begin(ctx context.Context) error {
	conn, err := c.env.Dial(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	c.conn = conn
	c.conn.SetIdle(c.env.Timeouts().Reply)
	release := c.bind(ctx)
	defer release()
	c.lines = wire.NewLines(conn, 0)
	c.lines.DoubleIAC = true
	if c.implicit {
		if err := c.protect(ctx); err != nil {
			return err
		}
	}
	return c.greeting()
}

// greeting reads replies until the server is ready: 120 promises another. One reply timeout bounds
// all of them together.
func (c *control) greeting() error {
	defer c.conn.ReplyTimeout(c.env.Timeouts().Reply)()
	for range maxPreliminary {
		r, err := c.lines.Reply()
		switch {
		case err != nil:
			return noReply(greeting, err)
		case r.Code/100 == 2:
			c.reader = isReader(r.Text())
			return nil
		case r.Code != 120:
			return refusal(greeting, r)
		}
	}
	return &driver.Error{Code: driver.ErrProtocol, Err: errors.New("the server's greeting has no end")}
}

// bind ties the control connection to ctx.
func (c *control) bind(ctx context.Context) (release func() bool) { return c.conn.Bind(ctx) }

// protect begins TLS on the connection. Data connections will resume its session, which servers
// demand as a proof that they belong together: hence a session cache of its own and a server name
// that does not depend on the port.
func (c *control) protect(ctx context.Context) error {
	cfg := c.env.TLSConfig(ctx, c.host)
	cfg.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	if err := c.lines.Upgrade(func() error { return c.conn.Handshake(ctx, cfg) }); err != nil {
		return err
	}
	c.tls = cfg
	return nil
}

func (c *control) protected() bool { return c.tls != nil }

func (c *control) say(steps ...step) error {
	for len(steps) > 0 {
		most, trial := c.pipelining.depth(c.addr, c.reader)
		n := min(len(steps), most)
		if steps[0].shown != "" {
			n = 1
		}
		if err := c.together(steps[:n], trial && n > 1); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

// together sends the commands in one write and reads the replies. All replies are read, whatever
// they say, so that the conversation can go on. In a trial, the server may have lost commands.
func (c *control) together(steps []step, trial bool) error {
	begun := time.Now()
	if err := c.send(steps); err != nil {
		return err
	}
	var failed error
	for i, s := range steps {
		limit := c.env.Timeouts().Reply
		if most := max(trialWait, trialTrips*c.roundTrip); trial && i > 0 && (limit == 0 || limit > most) {
			limit = most
		}
		r, err := c.await(limit)
		if err != nil {
			silent := errors.As(err, new(*wire.TimeoutError))
			err = noReply(s.String(), err)
			if trial && failed == nil && (i > 0 || !silent) {
				err = fmt.Errorf("%w: %w", errLostCommands, err)
			}
			return err
		}
		if hangsUp(r.Code, r.Text()) {
			c.lines.Break(net.ErrClosed)
			return refusal(s.String(), r)
		}
		if err := c.inStep(s, r); err != nil {
			return err
		}
		if failed == nil {
			failed = s.judge(r)
		}
	}
	if len(steps) > 1 {
		c.pipelining.able.Add(c.addr)
	} else if took := time.Since(begun); c.roundTrip == 0 || took < c.roundTrip {
		c.roundTrip = took
	}
	return failed
}

// inStep refuses a reply that only a transfer has, to a command that begins none: the server has
// sent a reply too many, so that each reply from now on belongs to an earlier command.
func (c *control) inStep(s step, r wire.Reply) error {
	if s.transfer || r.Code != 125 && r.Code != 150 && r.Code != 226 && r.Code != 426 {
		return nil
	}
	err := fmt.Errorf("%w: the reply to %s is one to a transfer", errUnusable, s)
	return &driver.Error{Code: driver.ErrProtocol, Reply: replyOf(r), Err: c.lines.Break(err)}
}

// await reads one reply, which must be complete within limit.
func (c *control) await(limit time.Duration) (wire.Reply, error) {
	defer c.conn.ReplyTimeout(limit)()
	return c.lines.Reply()
}

func (c *control) send(steps []step) error {
	var err error
	if len(steps) == 1 {
		err = c.lines.SendSecret(steps[0].line, steps[0].String())
	} else {
		for _, s := range steps {
			if err = c.lines.Queue(s.line); err != nil {
				return c.lines.Break(err) // the ones before it must not be sent later
			}
		}
		err = c.lines.Flush()
	}
	if err != nil && c.lines.Err() != nil {
		return noReply(steps[0].String(), err)
	}
	return err
}

// reply reads one more reply, such as that at the end of a transfer.
func (c *control) reply() (wire.Reply, error) {
	r, err := c.await(c.env.Timeouts().Reply)
	if err == nil && hangsUp(r.Code, r.Text()) {
		c.lines.Break(net.ErrClosed)
	}
	return r, err
}

func (c *control) dial(ctx context.Context, port uint16) (*driver.Conn, error) {
	return c.env.DialPeer(ctx, c.conn, port)
}

func (c *control) listen(ctx context.Context) (listener, error) {
	l, err := c.env.ListenPeer(ctx, c.conn)
	if err != nil {
		return nil, err // not a nil *driver.PeerListener in an interface
	}
	return l, nil
}

// abort closes the connection as it stands.
func (c *control) abort() {
	if c.conn != nil {
		c.conn.Close()
	}
}

// close sends QUIT and does not wait for the reply.
func (c *control) close() {
	c.conn.SetWriteDeadline(time.Now().Add(quitWait))
	c.lines.Send("QUIT")
	c.lines.Close()
}
