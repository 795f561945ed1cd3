package ftp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/wire"
)

const (
	// aheadMost is how many commands are sent ahead of their replies.
	aheadMost = 16
	// aheadWait is how long the reply to a command sent ahead may take after the one before it came:
	// servers that read one command at a time have lost it.
	aheadWait = 10 * time.Second
	// quitWait bounds the sending of QUIT, whose reply nobody waits for.
	quitWait = time.Second
	// maxPreliminary bounds the replies that announce another.
	maxPreliminary = 8
)

// errLostCommands marks the failure of commands that were sent ahead of their replies.
var errLostCommands = errors.New("the server did not answer commands sent together")

// A control is the control connection to a server (RFC 959, section 2.3): a dialogue in earnest.
type control struct {
	env        *fetch.Env
	addr, host string
	implicit   bool // TLS from the start
	serial     bool // nothing is sent ahead

	conn  *wire.Conn // below TLS
	lines *wire.Lines
	tls   *tls.Config // in force, for data connections too
}

func (c *control) begin(ctx context.Context) error {
	conn, err := c.env.Dial(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	c.conn = conn.(*wire.Conn)
	c.conn.SetIdle(c.env.Timeouts().Reply)
	release := c.bind(ctx)
	defer release()
	c.lines = wire.NewLines(conn, 0)
	c.lines.DoubleIAC = true
	c.lines.Trace = c.env.Trace()
	if c.implicit {
		if err := c.protect(ctx); err != nil {
			return err
		}
	}
	return c.greeting()
}

// greeting reads replies until the server is ready: 120 promises another.
func (c *control) greeting() error {
	for range maxPreliminary {
		r, err := c.lines.Reply()
		switch {
		case err != nil:
			return noReply("the connection", err)
		case r.Code/100 == 2:
			return nil
		case r.Code != 120:
			return refusal("the connection", r)
		}
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New("the server greets without end")}
}

// bind ties the control connection to ctx.
func (c *control) bind(ctx context.Context) (release func() bool) { return c.conn.Bind(ctx) }

// protect makes the connection a TLS connection. Data connections will resume its session, which
// servers demand as a proof that they belong together: hence a cache of its own and a name that does
// not depend on the port.
func (c *control) protect(ctx context.Context) error {
	cfg := c.env.TLSConfig(c.host)
	cfg.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	var failed error
	err := c.lines.Upgrade(func(conn net.Conn) net.Conn {
		t, err := c.env.Handshake(ctx, conn, cfg)
		if failed = err; err != nil {
			return conn
		}
		return t
	})
	switch {
	case failed != nil:
		return c.lines.Break(failed)
	case err != nil:
		return &fetch.Error{Code: fetch.ErrTLS, Err: err}
	}
	c.tls = cfg
	return nil
}

func (c *control) protected() bool { return c.tls != nil }

func (c *control) say(steps ...step) error {
	for len(steps) > 0 {
		n := min(len(steps), aheadMost)
		if c.serial || steps[0].shown != "" {
			n = 1
		}
		if err := c.together(steps[:n]); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

// together sends the commands in one write and reads the replies. All replies are read, whatever they
// say, so that the conversation can go on.
func (c *control) together(steps []step) error {
	if err := c.send(steps); err != nil {
		return err
	}
	var failed error
	for i, s := range steps {
		if i == 1 {
			if wait := c.env.Timeouts().Reply; wait == 0 || wait > aheadWait {
				c.conn.SetIdle(aheadWait)
				defer c.conn.SetIdle(wait)
			}
		}
		r, err := c.lines.Reply()
		if err != nil {
			err = noReply(s.String(), err)
			if len(steps) > 1 && failed == nil {
				err = fmt.Errorf("%w: %w", errLostCommands, err)
			}
			return err
		}
		if r.Code == 421 {
			c.lines.Break(net.ErrClosed)
			return refusal(s.String(), r)
		}
		if failed == nil {
			failed = s.judge(r)
		}
	}
	return failed
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
	r, err := c.lines.Reply()
	if err == nil && r.Code == 421 {
		c.lines.Break(net.ErrClosed)
	}
	return r, err
}

func (c *control) dial(ctx context.Context, port uint16) (net.Conn, error) {
	return c.env.DialPeer(ctx, c.conn, port)
}

func (c *control) listen(ctx context.Context) (net.Listener, error) {
	return c.env.ListenPeer(ctx, c.conn)
}

// abort closes the connection as it stands.
func (c *control) abort() {
	if c.conn != nil {
		c.conn.Close()
	}
}

// close takes leave and does not wait for the reply.
func (c *control) close() {
	c.conn.SetWriteDeadline(time.Now().Add(quitWait))
	c.lines.Send("QUIT")
	c.lines.Close()
}
