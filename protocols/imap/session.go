package imap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/wire"
)

// A serverKey names connections that are interchangeable.
type serverKey struct {
	addr  string
	tls   bool
	auth  string
	login string // the URL's user and password
}

// A session is a connection to a mail server after the login.
type session struct {
	env    *fetch.Env
	conn   *fetch.Conn
	lines  *wire.Lines
	host   string
	secure bool
	tag    int
	caps   map[string]bool // in upper case

	mailbox  string // the selected one, as the protocol has it
	validity uint32 // its UIDVALIDITY
}

// dial connects and logs in.
func (d *driver) dial(ctx context.Context, t *target) (_ *session, err error) {
	conn, err := d.env.Dial(ctx, "tcp", t.addr())
	if err != nil {
		return nil, err
	}
	if t.tls {
		if err = d.env.Handshake(ctx, conn, d.env.TLSConfig(ctx, t.host)); err != nil {
			return nil, err
		}
	}
	s := &session{env: d.env, conn: conn, lines: wire.NewLines(conn, maxLine), host: t.host, secure: t.tls}
	release := conn.Bind(ctx)
	defer func() {
		if !release() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			s.close()
		}
	}()
	greeting, err := s.read(false)
	if err != nil {
		return nil, err
	}
	condition, text, _ := strings.Cut(string(greeting.data), " ")
	condition = strings.ToUpper(condition)
	switch {
	case greeting.tag == "*" && condition == "BYE":
		return nil, failure("the server does not serve us", condition, text)
	case greeting.tag != "*" || condition != "OK" && condition != "PREAUTH":
		return nil, s.lines.Break(fmt.Errorf("%w %.80q as a greeting", wire.ErrMalformed, greeting.data))
	}
	if err := s.capabilities(); err != nil {
		return nil, err
	}
	if !s.secure && (s.caps["STARTTLS"] || d.opts.StartTLS) && condition == "OK" {
		if err := s.startTLS(ctx); err != nil {
			return nil, err
		}
	}
	if condition == "PREAUTH" {
		if d.opts.StartTLS && !s.secure {
			return nil, &fetch.Error{Code: fetch.ErrTLS, Err: errors.New("the server leaves no time to begin TLS")}
		}
		return s, nil
	}
	return s, d.logIn(ctx, t, s)
}

// capabilities fills in s.caps.
func (s *session) capabilities() error {
	s.caps = make(map[string]bool)
	return s.cmd("CAPABILITY", "CAPABILITY", func(r response) error {
		name, list, _ := strings.Cut(string(r.data), " ")
		if strings.EqualFold(name, "CAPABILITY") {
			for _, c := range strings.Fields(list) {
				s.caps[strings.ToUpper(c)] = true
			}
		}
		return nil
	})
}

// startTLS upgrades the connection. What was known of the server may have been planted.
func (s *session) startTLS(ctx context.Context) error {
	if err := s.cmd("the server does not begin TLS", "STARTTLS", nil); err != nil {
		var e *fetch.Error
		if errors.As(err, &e) {
			e.Code, e.Retry = fetch.ErrTLS, false
		}
		return err
	}
	err := s.lines.Upgrade(func() error { return s.env.Handshake(ctx, s.conn, s.env.TLSConfig(ctx, s.host)) })
	if err != nil {
		return err
	}
	s.secure = true
	return s.capabilities()
}

// cmd sends a command and reads the answers to it. Take, which may be nil, gets the data. A refusal
// is an error that says what failed.
func (s *session) cmd(what, line string, take func(response) error) error {
	tag, err := s.send(line, "")
	if err != nil {
		return err
	}
	return s.finish(what, tag, take)
}

// send sends a command with a tag, which it returns. Records show it as shown if that is not empty.
func (s *session) send(line, shown string) (tag string, err error) {
	s.tag++
	tag = "u" + strconv.Itoa(s.tag)
	if shown != "" {
		return tag, s.lines.SendSecret(tag+" "+line, tag+" "+shown)
	}
	return tag, s.lines.Send(tag + " " + line)
}

// maxAnswers bounds the data that answers a command whose answer is not a listing.
const maxAnswers = 100_000

// finish reads the answers to a command up to its status, all within the time for one reply.
func (s *session) finish(what, tag string, take func(response) error) error {
	defer s.inTime()()
	for range maxAnswers {
		r, err := s.next(false)
		if err != nil {
			return err
		}
		done, err := s.status(what, tag, r)
		if done || err != nil {
			return err
		}
		if take != nil {
			if err := take(r); err != nil {
				return s.lines.Break(err)
			}
		}
	}
	return s.lines.Break(fmt.Errorf("%w: more than %d answers to a command", wire.ErrReplyTooLong, maxAnswers))
}

// status reports whether r ends the answer to a command. If it says that the command failed, or
// cannot be in such an answer, that is the error.
func (s *session) status(what, tag string, r response) (done bool, err error) {
	condition, text, _ := strings.Cut(string(r.data), " ")
	condition = strings.ToUpper(condition)
	switch {
	case r.tag == "*" && condition == "BYE":
		return true, s.lines.Break(failure(what, condition, text))
	case r.tag == "*":
		return false, nil
	case r.tag != tag:
		return true, s.lines.Break(fmt.Errorf("%w: %.80q in place of the answer", wire.ErrMalformed, r.tag+" "+string(r.data)))
	case condition == "OK":
		return true, nil
	case condition == "NO" || condition == "BAD":
		return true, failure(what, condition, text)
	}
	return true, s.lines.Break(fmt.Errorf("%w %.80q", wire.ErrMalformed, r.data))
}

// inTime bounds all that is read, until the function that it returns is called, by the time for one
// reply.
func (s *session) inTime() (done func()) { return s.conn.ReplyTimeout(s.env.Timeouts().Reply) }

// quote writes a string for a command. Lines that hold CR, LF or NUL are refused when they are
// sent.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// examine selects a mailbox for reading. Again means to do so even if it is the selected one.
func (s *session) examine(t *target, again bool) error {
	name := encodeName(t.mailbox)
	if s.mailbox != name || again {
		s.mailbox, s.validity = "", 0
		err := s.cmd("mailbox "+t.mailbox, "EXAMINE "+quote(name), func(r response) error {
			_, text, _ := strings.Cut(string(r.data), " ")
			if value, ok := strings.CutPrefix(code(text), "UIDVALIDITY "); ok {
				n, _ := strconv.ParseUint(value, 10, 32)
				s.validity = uint32(n)
			}
			return nil
		})
		var e *fetch.Error
		if errors.As(err, &e) && strings.HasPrefix(e.Reply.Text, "NO") && e.Code == fetch.ErrRefused {
			e.Code = fetch.ErrNotFound // older servers say no more than no
		}
		if err != nil {
			return err
		}
		s.mailbox = name
	}
	if t.validity != 0 && t.validity != s.validity {
		return &fetch.Error{Code: fetch.ErrNotFound,
			Err: fmt.Errorf("the mailbox is not the one that the URL means: its UIDVALIDITY is %d", s.validity)}
	}
	return nil
}

// close closes the connection. LOGOUT would make the server say more than anybody waits for.
func (s *session) close() { s.conn.Abort() }

// A lease is a session in use, bound to the context of one request.
type lease struct {
	*session
	*fetch.Lease[serverKey, *session]
}

// with leases a session and runs op on it. A session that was kept and fails is replaced. If with
// succeeds, the caller must put or discard the lease.
func (d *driver) with(ctx context.Context, t *target, op func(*lease) error) (*lease, error) {
	user, _ := t.login.User()
	password, _ := t.login.Password()
	key := serverKey{addr: t.addr(), tls: t.tls, auth: t.auth, login: user + "\x00" + password}
	name := encodeName(t.mailbox)
	for {
		pooled, err := d.pool.Get(ctx, key, func(s *session) bool { return s.mailbox == name },
			func(ctx context.Context) (*session, error) { return d.dial(ctx, t) })
		if err != nil {
			return nil, err
		}
		pooled.Bind(ctx)
		l := &lease{session: pooled.Conn, Lease: pooled}
		if err = op(l); err == nil {
			return l, nil
		}
		gone := l.lines.Err() != nil && !errors.Is(l.lines.Err(), os.ErrDeadlineExceeded) && !errors.Is(err, wire.ErrReplyTooLong)
		l.Put()
		if !pooled.Reused || ctx.Err() != nil || !gone {
			return nil, err
		}
	}
}
