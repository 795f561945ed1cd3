package ftp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

const (
	// quitWait limits the sending of QUIT. Its reply is not read.
	quitWait = time.Second
	// maxPreliminary limits consecutive preliminary replies.
	maxPreliminary = 8
	// maxEmptyLines limits the empty lines before a reply, which some servers send.
	maxEmptyLines = 16
)

// A control is the control connection to a server (RFC 959, section 2.3).
type control struct {
	env        fetch.Env
	addr, host string
	implicit   bool // TLS from the first byte

	pipelining  *pipelining
	canPipeline bool          // the server is known to accept pipelined commands
	roundTrip   time.Duration // the shortest measured; 0 before

	conn  *fetch.Conn
	lines *wire.Lines
	tls   *tls.Config // in use, for data connections too
}

func (c *control) begin(ctx context.Context) error {
	conn, err := c.env.Dial(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	c.conn = conn
	conn.SetIdle(c.env.Timeouts().Reply)
	defer conn.Bind(ctx)()
	c.lines = wire.NewLines(conn, 0)
	c.lines.DoubleIAC, c.lines.NoContent = true, true
	if c.implicit {
		if err := c.protect(ctx); err != nil {
			return err
		}
	}
	return c.greeting()
}

// greeting reads replies until the server is ready; 120 precedes another reply. One reply timeout
// applies to all of them together.
func (c *control) greeting() error {
	defer c.conn.ReplyTimeout(c.env.Timeouts().Reply)()
	for range maxPreliminary {
		r, err := c.nextReply()
		switch {
		case err != nil:
			return noReply(greeting, err)
		case r.Code/100 == 2:
			c.canPipeline = canPipeline(r.Text())
			return nil
		case r.Code != 120:
			return refusal(greeting, r)
		}
	}
	return fetch.ErrProtocol.Errorf("the server's greeting does not end")
}

// protect starts TLS on the connection. Data connections resume its session, because servers
// require that as a proof. So it has its own session cache, and a server name without the port.
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
		most, trial := c.pipelining.depth(c.addr, c.canPipeline)
		n := min(len(steps), most)
		if steps[0].shown != "" || trial && steps[0].line == "FEAT" {
			n = 1 // servers without FEAT are common, and its refusal would end the trial
		}
		if err := c.together(steps[:n], trial && n > 1); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

// together sends the commands in one write and reads all replies, so that the connection stays
// usable after a refusal. In a trial, the server may lose commands or take them for one. The replies
// of servers that execute commands in parallel may be out of order at any time.
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
			if trial && (i > 0 || !silent) {
				err = fmt.Errorf("%w: %w", errCannotPipeline, err)
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
		if c.pipelining.mode == PipeliningAuto && len(steps) > 1 &&
			(trial && i == 0 && tookForOne(r) || outOfOrder(steps, i, r)) {
			return c.lines.Break(fmt.Errorf("%w: %w", errCannotPipeline, refusal(s.String(), r)))
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

// inStep refuses a reply of a transfer to any other command. The server has then sent an extra
// reply, and every later reply would be that of an earlier command.
func (c *control) inStep(s step, r wire.Reply) error {
	if s.transfer || r.Code != 125 && r.Code != 150 && r.Code != 226 && r.Code != 426 {
		return nil
	}
	err := fmt.Errorf("%w: the reply to %s is that of a transfer", errUnusable, s)
	return &fetch.Error{Code: fetch.ErrProtocol, Reply: replyOf(r), Err: c.lines.Break(err)}
}

func (c *control) await(limit time.Duration) (wire.Reply, error) {
	defer c.conn.ReplyTimeout(limit)()
	return c.nextReply()
}

func (c *control) nextReply() (wire.Reply, error) {
	r := c.lines.Reader()
	for range maxEmptyLines {
		b, _ := r.Peek(1) // an error is that of Reply, too
		if string(b) == "\r" {
			b, _ = r.Peek(2)
		}
		if end := string(b); end != "\n" && end != "\r\n" {
			break
		}
		r.Line()
	}
	return c.lines.Reply()
}

func (c *control) send(steps []step) error {
	var err error
	if len(steps) == 1 {
		err = c.lines.SendSecret(steps[0].line, steps[0].String())
	} else {
		for _, s := range steps {
			if err = c.lines.Queue(s.line); err != nil {
				return c.lines.Break(err) // the queued commands must not be sent later
			}
		}
		err = c.lines.Flush()
	}
	if err != nil && c.lines.Err() != nil {
		return noReply(steps[0].String(), err)
	}
	return err
}

// reply reads another reply, such as the final one of a transfer.
func (c *control) reply() (wire.Reply, error) { return c.replyWithin(c.env.Timeouts().Reply) }

func (c *control) replyWithin(limit time.Duration) (wire.Reply, error) {
	r, err := c.await(limit)
	if err == nil && hangsUp(r.Code, r.Text()) {
		c.lines.Break(net.ErrClosed)
	}
	return r, err
}

func (c *control) dial(ctx context.Context, port uint16) (*fetch.Conn, error) {
	return c.env.DialPeer(ctx, c.conn, port)
}

func (c *control) listen(ctx context.Context) (listener, error) {
	l, err := c.env.ListenPeer(ctx, c.conn)
	if err != nil {
		return nil, err // not a nil *fetch.PeerListener in an interface
	}
	return l, nil
}

func (c *control) sendAbort() bool {
	c.conn.SetWriteDeadline(time.Now().Add(quitWait))
	defer c.conn.SetWriteDeadline(time.Time{})
	return c.lines.Send("ABOR") == nil
}

func (c *control) abort() {
	if c.conn != nil {
		c.conn.Close()
	}
}

func (c *control) close() {
	c.conn.SetWriteDeadline(time.Now().Add(quitWait))
	c.lines.Send("QUIT")
	c.lines.Close()
}
