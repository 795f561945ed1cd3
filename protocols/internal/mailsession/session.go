// Package mailsession has the sessions of drivers for mail and news servers: the connection, TLS,
// the login, the pool, and the body that ends the use of a session.
package mailsession

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
)

// A Server is the server of a URL, and the login.
type Server struct {
	Host  string
	Port  uint16
	TLS   bool    // from the first byte
	Auth  string  // the login mechanism, in upper case; "" allows any
	Login uri.URI // URL of the server, with user and password if there are any
}

// Parse returns the server of a URL (RFC 5092, RFC 2384):
//
//	SCHEME[s]://[USER[;AUTH=MECHANISM][:PASSWORD]@]HOST[:PORT]
func Parse(u uri.URI, port, tlsPort uint16) (s Server, err error) {
	s = Server{Host: u.Host(), TLS: strings.HasSuffix(u.Scheme(), "s")}
	if s.TLS {
		port = tlsPort
	}
	s.Port = u.Port(port)
	if s.Host == "" {
		return s, fetch.ErrURL.Errorf("the URL has no host")
	}
	login := u.Userinfo()
	if i := strings.Index(strings.ToUpper(login.Name), ";AUTH="); i >= 0 {
		s.Auth = strings.ToUpper(login.Name[i+len(";AUTH="):])
		login.Name = login.Name[:i]
		if s.Auth == "*" {
			s.Auth = ""
		}
		login.HasName = login.Name != "" || login.HasPassword
	}
	s.Login, err = (uri.Parts{Scheme: u.Scheme(), Login: login, Host: s.Host, Port: s.Port}).URI()
	return s, err
}

// Addr returns the address of the server, "host:port".
func (s *Server) Addr() string { return net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port))) }

// A Key identifies interchangeable sessions.
type Key struct {
	addr, auth, login string
	tls               bool
}

// Addr is used by [driver.Pool].
func (k Key) Addr() string { return k.addr }

// Key returns the key of sessions with the server.
func (s *Server) Key() Key {
	user, _ := s.Login.User()
	password, _ := s.Login.Password()
	return Key{addr: s.Addr(), tls: s.TLS, auth: s.Auth, login: user + "\x00" + password}
}

// A Session is a connection to a server. The session type of a driver embeds it.
type Session struct {
	Conn   *fetch.Conn
	Lines  *wire.Lines
	Secure bool // with TLS

	env  fetch.Env
	host string
}

// Dial connects the session to a server and calls begin, which logs in.
func (s *Session) Dial(ctx context.Context, env fetch.Env, srv *Server, maxLine int,
	begin func() error) (err error) {
	conn, err := env.Dial(ctx, "tcp", srv.Addr())
	if err != nil {
		return err
	}
	if srv.TLS {
		if err = conn.Handshake(ctx, env.TLSConfig(ctx, srv.Host)); err != nil {
			return err
		}
	}
	*s = Session{Conn: conn, Lines: wire.NewLines(conn, maxLine), Secure: srv.TLS, env: env, host: srv.Host}
	release := conn.Bind(ctx)
	err = begin()
	if !release() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.Close()
	}
	return err
}

// StartTLS starts TLS after the command for it, which failed if refused is not nil. It fails if
// unread plaintext is buffered, because an attacker may have injected it.
func (s *Session) StartTLS(ctx context.Context, refused error) error {
	if refused != nil {
		if e := Refusal(refused); e != nil {
			e.Code, e.Retry = fetch.ErrTLS, false
		}
		return refused
	}
	err := s.Lines.Upgrade(func() error { return s.Conn.Handshake(ctx, s.env.TLSConfig(ctx, s.host)) })
	s.Secure = s.Secure || err == nil
	return err
}

// maxCapabilities limits a list of capabilities, in bytes.
const maxCapabilities = 64 << 10

// Capabilities reads a multi-line reply of labels with arguments. It returns the arguments by
// label, all in upper case.
func (s *Session) Capabilities() (map[string]string, error) {
	defer s.ReplyTimeout()()
	caps, size := make(map[string]string), 0
	for line, err := range s.Lines.Reader().DotLines(wire.DotOptions{}, 0) {
		if size += len(line) + 2; err == nil && size > maxCapabilities {
			err = fmt.Errorf("%w: more than %d bytes of capabilities", wire.ErrReplyTooLong, maxCapabilities)
		}
		if err != nil {
			return nil, s.Lines.Break(err)
		}
		label, args, _ := strings.Cut(strings.ToUpper(string(line)), " ")
		caps[label] = args
	}
	return caps, nil
}

// Head reads the header of a message, up to the final dot line of the reply. What names the message
// in errors.
func (s *Session) Head(what string) ([]byte, error) {
	defer s.ReplyTimeout()()
	dot := s.Lines.Reader().Dot(wire.DotOptions{})
	head, err := message.ReadHead(dot, 0)
	if err == nil {
		_, err = io.CopyN(io.Discard, dot, message.MaxHeader) // some servers also send the body
	}
	switch err {
	case io.EOF:
		return head, nil
	case nil:
		err = fmt.Errorf("%w: the header of the %s does not end", wire.ErrReplyTooLong, what)
	}
	return nil, s.Lines.Break(err)
}

// Refusal returns the error by which the server refused a command, or nil if err is another one.
func Refusal(err error) *fetch.Error {
	var e *fetch.Error
	if errors.As(err, &e) && !e.Reply.IsZero() {
		return e
	}
	return nil
}

// ReplyTimeout applies the timeout for one reply to everything that is read until done is called.
func (s *Session) ReplyTimeout() (done func()) { return s.Conn.ReplyTimeout(s.env.Timeouts().Reply) }

// Close closes the connection without a QUIT or LOGOUT command. Its reply would have to be awaited,
// or it would change messages that were read.
func (s *Session) Close() { s.Conn.Abort() }

func (s *Session) session() *Session { return s }

type sessioner interface{ session() *Session }

// A Pool keeps authenticated sessions.
type Pool[S sessioner] struct {
	pool *driver.Pool[Key, S]
	dial func(context.Context, *Server) (S, error)
}

// NewPool returns a pool of up to conns sessions per server and login. Dial makes sessions.
func NewPool[S sessioner](env fetch.Env, conns int, idle time.Duration,
	dial func(context.Context, *Server) (S, error)) *Pool[S] {
	return &Pool[S]{dial: dial, pool: driver.NewPool[Key](env, driver.PoolOptions[S]{
		MaxIdle: conns, MaxOpen: conns, IdleTimeout: idle,
		Conn: func(s S) (*fetch.Conn, int) {
			return s.session().Conn, s.session().Lines.Reader().Buffered()
		},
		Valid: func(s S) bool { return s.session().Lines.Err() == nil },
		Close: func(s S) { s.session().Close() },
	})}
}

// CloseIdle closes idle sessions.
func (p *Pool[S]) CloseIdle() { p.pool.CloseIdle() }

// A Lease is the use of a session, Conn, by one response.
type Lease[S sessioner] struct{ *driver.Lease[Key, S] }

// ErrStale is returned by the op of Pool.Lease if a new session may see more than a pooled one.
var ErrStale = errors.New("not in the maildrop of this session")

// Lease leases a session, preferably one for which prefer returns true, and calls op. A pooled
// session that has failed or is stale is replaced. If Lease succeeds, the caller must end the
// lease.
func (p *Pool[S]) Lease(ctx context.Context, srv *Server, prefer func(S) bool,
	op func(Lease[S]) error) (Lease[S], error) {
	l, err := p.pool.Use(ctx, srv.Key(), prefer,
		func(ctx context.Context) (S, error) { return p.dial(ctx, srv) },
		func(l *driver.Lease[Key, S]) error { return op(Lease[S]{l}) },
		func(s S, err error) bool {
			broken := s.session().Lines.Err()
			return errors.Is(err, ErrStale) || broken != nil && !errors.Is(broken, os.ErrDeadlineExceeded) &&
				!errors.Is(err, wire.ErrReplyTooLong) && fetch.CodeOf(err) != fetch.ErrTooLarge
		})
	return Lease[S]{l}, err
}

// SetParts sets the parts of a response, which are read from the session. The lease ends with them.
func (l Lease[S]) SetParts(resp *fetch.Response, parts iter.Seq2[driver.Part, error]) {
	driver.SetParts(resp, func(yield func(driver.Part, error) bool) {
		defer l.Put()
		parts(yield)
	}, func() error {
		l.Discard()
		return nil
	})
}

// A Holder is a Lease, or a driver's own type that embeds one.
type Holder interface {
	sessioner
	Put()
	Discard()
}

func (l Lease[S]) session() *Session { return l.Conn.session() }

// NewBody returns the body of a response that reads content from the session, after a head that was read
// already. Content must return io.EOF only after the server has confirmed the end. The lease ends with
// the body.
func NewBody(l Holder, head []byte, content io.Reader) io.ReadCloser {
	return &body{lease: l, head: head, content: content}
}

type body struct {
	lease   Holder
	head    []byte // the part not returned yet
	content io.Reader
	err     error
	once    sync.Once // ends the lease
}

func (b *body) Read(p []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(p, b.head)
		b.head = b.head[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.content.Read(p)
	if err != nil {
		b.finish(err)
	}
	return n, err
}

func (b *body) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b.head)
	b.head = b.head[n:]
	if err != nil || b.err == io.EOF {
		return int64(n), err
	}
	if b.err != nil {
		return int64(n), b.err
	}
	m, err := io.Copy(w, b.content)
	b.finish(cmp.Or(err, io.EOF))
	return int64(n) + m, err
}

// finish ends the lease. The session can be reused only if err is io.EOF.
func (b *body) finish(err error) {
	b.err = err
	b.once.Do(func() {
		if err != io.EOF {
			b.lease.session().Lines.Break(err)
		}
		b.lease.Put()
	})
}

func (b *body) Close() error {
	b.once.Do(b.lease.Discard)
	return nil
}
