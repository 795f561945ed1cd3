// Package mailsession holds the part of a session that the drivers of mail servers share: the
// connection, TLS on it, the login, the pool of sessions that are logged in, and the body that ends
// the use of one. The first two serve news servers too.
package mailsession

import (
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

// A Server is the mail server that a URL names, and the login there.
type Server struct {
	Host  string
	Port  uint16
	TLS   bool    // from the first byte on
	Auth  string  // the mechanism of the login, in upper case; "" leaves it open
	Login uri.URI // of the server, with the user and password if there are any
}

// Parse returns the server that a URL names (RFC 5092, RFC 2384):
//
//	SCHEME[s]://[USER[;AUTH=MECHANISM][:PASSWORD]@]HOST[:PORT]
func Parse(u uri.URI, port, tlsPort uint16) (s Server, err error) {
	s = Server{Host: u.Host(), TLS: strings.HasSuffix(u.Scheme(), "s")}
	if s.TLS {
		port = tlsPort
	}
	s.Port = u.Port(port)
	if s.Host == "" {
		return s, &driver.Error{Code: driver.ErrURL, Err: errors.New("the URL names no host")}
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

// A key names sessions that are interchangeable.
type key struct {
	addr, auth, login string
	tls               bool
}

func (s *Server) key() key {
	user, _ := s.Login.User()
	password, _ := s.Login.Password()
	return key{addr: s.Addr(), tls: s.TLS, auth: s.Auth, login: user + "\x00" + password}
}

// A Session is a connection to a mail server. The session of a driver embeds it.
type Session struct {
	Conn   *driver.Conn
	Lines  *wire.Lines
	Secure bool // by TLS

	env  driver.Env
	host string
}

// Dial connects the session to a server and calls begin, which logs in.
func (s *Session) Dial(ctx context.Context, env driver.Env, srv *Server, maxLine int, begin func() error) (err error) {
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

// StartTLS begins TLS after the command for it, which failed if refused is not nil. What the server
// said before may have been planted.
func (s *Session) StartTLS(ctx context.Context, refused error) error {
	if refused != nil {
		if e := Refusal(refused); e != nil {
			e.Code, e.Retry = driver.ErrTLS, false
		}
		return refused
	}
	err := s.Lines.Upgrade(func() error { return s.Conn.Handshake(ctx, s.env.TLSConfig(ctx, s.host)) })
	s.Secure = s.Secure || err == nil
	return err
}

// Refusal returns the error by which the server refused a command; nil if err is another one.
func Refusal(err error) *driver.Error {
	var e *driver.Error
	if errors.As(err, &e) && !e.Reply.IsZero() {
		return e
	}
	return nil
}

// InTime limits the time for everything that is read until done is called to that for one reply.
func (s *Session) InTime() (done func()) { return s.Conn.ReplyTimeout(s.env.Timeouts().Reply) }

// Close closes the connection without a farewell: the server would say more than anybody waits for,
// or change messages that were read.
func (s *Session) Close() { s.Conn.Abort() }

func (s *Session) session() *Session { return s }

// A sessioner is a pointer to a struct that embeds a Session.
type sessioner interface{ session() *Session }

// A Pool keeps sessions that are logged in.
type Pool[S sessioner] struct {
	pool *driver.Pool[key, S]
	dial func(context.Context, *Server) (S, error)
}

// NewPool returns a pool of up to conns sessions for each server and login, which dial makes.
func NewPool[S sessioner](env driver.Env, conns int, idle time.Duration, dial func(context.Context, *Server) (S, error)) *Pool[S] {
	return &Pool[S]{dial: dial, pool: driver.NewPool[key](env, driver.PoolOptions[S]{
		MaxIdle: conns, MaxOpen: conns, IdleTimeout: idle,
		Conn: func(s S) (*driver.Conn, int) {
			return s.session().Conn, s.session().Lines.Reader().Buffered()
		},
		Valid: func(s S) bool { return s.session().Lines.Err() == nil },
		Close: func(s S) { s.session().Close() },
	})}
}

// CloseIdle closes the sessions that are not in use.
func (p *Pool[S]) CloseIdle() { p.pool.CloseIdle() }

// A Lease is the use of a session, Conn, by one response.
type Lease[S sessioner] struct{ *driver.Lease[key, S] }

// ErrStale says that a session which was kept does not see what is wanted, and a new one may.
var ErrStale = errors.New("not in the maildrop as it was")

// Lease leases a session, one for which prefer reports true if possible, and calls op. A session that
// was kept and fails, or is stale, is replaced. If Lease succeeds, the caller must end the lease.
func (p *Pool[S]) Lease(ctx context.Context, srv *Server, prefer func(S) bool, op func(Lease[S]) error) (Lease[S], error) {
	for {
		pooled, err := p.pool.Get(ctx, srv.key(), prefer, func(ctx context.Context) (S, error) { return p.dial(ctx, srv) })
		if err != nil {
			return Lease[S]{}, err
		}
		pooled.Bind(ctx)
		l := Lease[S]{pooled}
		if err = op(l); err == nil {
			return l, nil
		}
		broken := l.Conn.session().Lines.Err()
		gone := broken != nil && !errors.Is(broken, os.ErrDeadlineExceeded) && !errors.Is(err, wire.ErrReplyTooLong) && driver.CodeOf(err) != driver.ErrTooLarge
		if !pooled.Reused || ctx.Err() != nil || !gone && !errors.Is(err, ErrStale) {
			l.Put()
			return Lease[S]{}, err
		}
		l.Discard()
	}
}

// Listing returns the Body and the Parse of a response whose parts come from the session. The lease
// ends with them.
func (l Lease[S]) Listing(parts iter.Seq2[driver.Part, error]) (io.ReadCloser, func(io.Reader) iter.Seq2[driver.Entry, error]) {
	return driver.NewListing(func(yield func(driver.Part, error) bool) {
		defer l.Put()
		parts(yield)
	}, func() error {
		l.Discard()
		return nil
	})
}

// Body returns the body of a response that reads content from the session. Content returns io.EOF
// once the server has confirmed the end. The lease ends with the body.
func (l Lease[S]) Body(content io.Reader) io.ReadCloser { return &body[S]{lease: l, content: content} }

type body[S sessioner] struct {
	lease   Lease[S]
	content io.Reader
	err     error
}

func (b *body[S]) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.content.Read(p)
	if err != nil {
		b.err = err
		if err != io.EOF {
			b.lease.Conn.session().Lines.Break(err)
		}
		b.lease.Put()
	}
	return n, err
}

func (b *body[S]) Close() error {
	b.lease.Discard()
	return nil
}
