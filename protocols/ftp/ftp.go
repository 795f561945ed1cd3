// Package ftp is the driver for ftp and ftps URLs: it logs in, changes directory segment by segment
// as RFC 1738 reads a path, and retrieves files and listings over pooled connections.
package ftp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/pool"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// TLS says whether ftp URLs are retrieved over TLS. An ftps URL always is.
	TLS TLSMode
	// Active makes the server connect to the client for data (EPRT, PORT), in place of the client to
	// the server (EPSV, PASV). It does not work through proxies.
	Active bool
	// Account answers a server that asks for ACCT, if the credentials have no account.
	Account string
	// GuessType retrieves names with a well-known suffix of text as text (TYPE A) if the URL has no
	// type code. Otherwise all that has none is retrieved as it is (TYPE I). RFC 1738, section 3.2.3.
	GuessType bool
	// GuessDir lists a directory if the server refuses to retrieve its name as a file and the URL has
	// no type code.
	GuessDir bool
	// TextLineEnds turns the CRLF line ends of text (TYPE A, TYPE E) into LF.
	TextLineEnds bool
	// MaxConns bounds the control connections to one server for one user. 0 means 6.
	MaxConns int
}

// A TLSMode says what to do about TLS on the port of clear FTP (RFC 4217).
type TLSMode uint8

// The modes of TLS for ftp URLs.
const (
	// TLSOff does not ask for TLS.
	TLSOff TLSMode = iota
	// TLSTry asks for it, and goes on in clear if the server does not know it. Once the server has
	// agreed, every failure of TLS is an error.
	TLSTry
	// TLSRequire sends no user name before control and data connections are protected.
	TLSRequire
)

// Load registers the driver with default options.
func Load(env *fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is Load with options.
func With(opts Options) fetch.Loader {
	return func(env *fetch.Env, reg *fetch.Registry) {
		d := newDriver(env, opts)
		scheme := fetch.Scheme{
			Name: "ftp", Port: 21, Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
			Ranges: true, Relayed: true, Driver: d,
			Summary: "files and directories by the File Transfer Protocol",
		}
		reg.Register(scheme)
		scheme.Name, scheme.Port = "ftps", 990
		scheme.Summary = "FTP over TLS from the first octet on"
		reg.Register(scheme)
	}
}

// idleTime is how long a connection is kept for the next request. Servers hang up after some minutes.
const idleTime = time.Minute

type driver struct {
	env  *fetch.Env
	opts Options
	pool *pool.Pool[key, *session]
	// serial has the addresses of the servers that lose commands sent ahead of replies.
	serial sync.Map
}

// A key is what makes control connections interchangeable.
type key struct {
	addr     string
	implicit bool
	login    uri.Userinfo
	scope    string
	// foreign is the host that led here, as credentials may depend on it; "" if it is the same.
	foreign string
}

func newDriver(env *fetch.Env, opts Options) *driver {
	if opts.MaxConns <= 0 {
		opts.MaxConns = 6
	}
	return &driver{env: env, opts: opts, pool: pool.New[key](pool.Options[*session]{
		MaxIdle: opts.MaxConns, MaxOpen: opts.MaxConns, IdleTimeout: idleTime,
		Close: func(s *session) { s.close() },
	})}
}

// CloseIdleConnections implements fetch.IdleCloser.
func (d *driver) CloseIdleConnections() { d.pool.CloseIdle() }

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := d.newTask(req)
	if err != nil {
		return nil, err
	}
	resp, err := d.open(ctx, t)
	if isRefusal(err) && t.hasIAC() {
		// Servers that know nothing of Telnet take the octet as it is.
		raw := *t
		raw.rawIAC = true
		if resp, rerr := d.open(ctx, &raw); rerr == nil {
			return resp, nil
		}
	}
	if d.opts.GuessDir && t.mayBeDirectory() && isRefusal(err) {
		if listing, lerr := d.open(ctx, t.asDirectory()); lerr == nil {
			return listing, nil
		}
	}
	return resp, err
}

// open performs t on a pooled connection. Connections that turn out to be of no use, because the
// server has closed them, cannot be led back from another directory or lose commands sent ahead, are
// replaced: nothing that t asks for has happened on them.
func (d *driver) open(ctx context.Context, t *task) (*fetch.Response, error) {
	k := d.key(ctx, t)
	for {
		lease, err := d.pool.Get(ctx, k, func(s *session) bool { return s.isAt(t.cwd) },
			func(ctx context.Context) (*session, error) { return d.dial(ctx, t) })
		if err != nil {
			return nil, err
		}
		resp, err := d.perform(ctx, lease, t)
		switch {
		case err == nil:
			return resp, nil
		case lease.Reused && isStale(err) && ctx.Err() == nil:
			continue
		case errors.Is(err, errLostCommands) && ctx.Err() == nil:
			if _, known := d.serial.LoadOrStore(k.addr, true); !known {
				d.env.Logger().Info("the server loses commands that are sent ahead; one by one from now on",
					"server", k.addr)
				continue
			}
		}
		return nil, err
	}
}

func (d *driver) key(ctx context.Context, t *task) key {
	k := key{addr: t.addr(), implicit: t.implicit(), login: t.url.Login, scope: d.env.Scope(ctx)}
	if from := d.env.From(ctx); !from.IsZero() && from.Host() != t.url.Host {
		k.foreign = from.Host()
	}
	return k
}

// dial connects and logs in.
func (d *driver) dial(ctx context.Context, t *task) (*session, error) {
	_, serial := d.serial.Load(t.addr())
	c := &control{env: d.env, addr: t.addr(), host: t.url.Host, implicit: t.implicit(), serial: serial}
	s := &session{dialogue: c, control: c, opts: &d.opts}
	err := s.login(ctx, t, func(user string, attempt int) (fetch.Credential, error) {
		return d.env.Credential(ctx, fetch.Challenge{URL: t.req.URL, Mechanism: "ftp", User: user, Attempt: attempt})
	}, d.env.Identity().Email)
	if err != nil {
		c.abort()
		return nil, err
	}
	return s, nil
}

// A lease is the use of one session by one response.
type lease = *pool.Lease[key, *session]

// perform takes t through the session of the lease. The lease ends with the body of the response.
func (d *driver) perform(ctx context.Context, l lease, t *task) (*fetch.Response, error) {
	s := l.Conn
	s.control.lines.DoubleIAC = !t.rawIAC
	release := s.control.bind(ctx)
	done := func(err error) error {
		if release() && s.reusable(err) {
			l.Put()
		} else {
			s.broken.Store(true)
			l.Discard()
		}
		return err
	}
	if t.kind == inspect {
		meta, err := s.inspect(ctx, t)
		if done(err) != nil {
			return nil, err
		}
		return &fetch.Response{Meta: *meta, URL: t.base, Body: emptyBody{}}, nil
	}
	x, err := s.transfer(ctx, t)
	if err == nil {
		err = s.complete(ctx, x)
	}
	if err != nil {
		return nil, done(err)
	}
	b := &body{ctx: ctx, session: s, data: x.ch.conn, final: x.final, size: x.meta.Size, done: done,
		left: x.limit, limited: x.limit > 0}
	if b.data != nil {
		b.unbind = fetch.Bind(ctx, b.data)
	}
	return respond(t, x, b), nil
}

// Explain implements fetch.Explainer. It shows what a new connection to a server that knows all
// commands would be told.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
	t, err := d.newTask(req)
	if err != nil {
		return nil, err
	}
	r := &rehearsal{tls: t.implicit()}
	s := &session{dialogue: r, opts: &d.opts}
	ctx := context.Background()
	err = s.login(ctx, t, func(user string, _ int) (fetch.Credential, error) {
		if !t.url.Login.HasName {
			return fetch.Credential{}, fetch.ErrAuth
		}
		return fetch.Credential{User: t.url.Login.Name}, nil
	}, d.env.Identity().Email)
	switch {
	case err != nil:
	case t.kind == inspect:
		_, err = s.inspect(ctx, t)
	default:
		_, err = s.transfer(ctx, t)
	}
	return r.lines, err
}

// unsupported is the answer to an operation that FTP does not have.
func unsupported(op fetch.Op) error {
	return &fetch.Error{Code: fetch.ErrNotRetrievable,
		Err: fmt.Errorf("FTP has no operation %q: %w", strings.ToLower(op.String()), errors.ErrUnsupported)}
}

var (
	_ fetch.Driver     = (*driver)(nil)
	_ fetch.IdleCloser = (*driver)(nil)
	_ fetch.Explainer  = (*driver)(nil)
)
