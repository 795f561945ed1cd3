// Package ftp is the driver for ftp and ftps URLs. It logs in, sends one CWD per path segment as
// RFC 1738 requires, and retrieves files and listings over pooled connections.
package ftp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/bounded"
)

// Options configure the driver. The zero value selects the defaults.
type Options struct {
	// TLS selects the use of TLS for ftp URLs. An ftps URL always uses it.
	TLS TLSMode
	// Active makes the server connect to the client for data (EPRT, PORT), instead of the client to
	// the server (EPSV, PASV). It does not work through proxies.
	Active bool
	// Account is sent by ACCT if the server requests it and the credentials have no account.
	Account string
	// GuessType retrieves names with a well-known text suffix as text (TYPE A) if the URL has no
	// type code. Other files without a type code are retrieved unchanged (TYPE I). See RFC 1738,
	// section 3.2.3.
	GuessType bool
	// GuessDir lists a directory if the server refuses to retrieve the name as a file and the URL
	// has no type code.
	GuessDir bool
	// Pipelining selects when commands are sent together.
	Pipelining Pipelining
	// MaxConns limits the control connections to one server for one user. 0 means 6.
	MaxConns int

	settleWait time.Duration // instead of settleWait, in tests; 0 means settleWait
}

// A TLSMode selects the use of TLS on the port of plaintext FTP (RFC 4217).
type TLSMode uint8

// The modes of TLS for ftp URLs.
const (
	// TLSOff does not request TLS.
	TLSOff TLSMode = iota
	// TLSTry requests TLS and continues in plaintext if the server does not support it. After the
	// server has agreed, every failure of TLS is an error.
	TLSTry
	// TLSRequire sends no user name before control and data connections are protected.
	TLSRequire
)

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a Loader that registers the driver with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		d := newDriver(env, opts)
		scheme := fetch.Scheme{
			Name: "ftp", Port: 21, Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
			Ranges: true, ForwardProxy: true, Driver: d,
			Traits:  fetch.Traits{RedirectTarget: true, Tree: true},
			Summary: "files and directories over the File Transfer Protocol",
		}
		reg.Register(scheme)
		scheme.Name, scheme.Port = "ftps", 990
		scheme.Summary = "FTP over TLS from the first byte"
		reg.Register(scheme)
	}
}

// idleTime is the time after which an idle connection is closed. Servers close it after some minutes.
const idleTime = time.Minute

type opener struct {
	env  fetch.Env
	opts Options
	pool *driver.Pool[key, *session]

	pipelining *pipelining
	restarts   *restarts
	tried      driver.Logins
	// unannounced are the servers with listings that end without close_notify.
	unannounced *bounded.Set[string]
}

// A key identifies interchangeable control connections.
type key struct {
	addr     string
	implicit bool
	login    uri.Userinfo
}

// Addr is used by [driver.Pool].
func (k key) Addr() string { return k.addr }

func newDriver(env fetch.Env, opts Options) *opener {
	if opts.MaxConns <= 0 {
		opts.MaxConns = 6
	}
	pool := driver.NewPool[key](env, driver.PoolOptions[*session]{
		MaxIdle: opts.MaxConns, MaxOpen: opts.MaxConns, IdleTimeout: idleTime,
		Conn:  (*session).idleConn,
		Close: func(s *session) { s.close() },
	})
	return &opener{
		env: env, opts: opts, pool: pool,
		pipelining: newPipelining(opts.Pipelining), restarts: newRestarts(),
		unannounced: bounded.NewSet[string](maxServers),
	}
}

func (d *opener) CloseIdleConnections() { d.pool.CloseIdle() }

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := d.newTask(req)
	if err != nil {
		return nil, err
	}
	resp, err := d.run(ctx, t)
	if isRefusal(err) && t.hasIAC() {
		// Servers that ignore the TELNET rule expect the byte once.
		raw := *t
		raw.rawIAC = true
		if resp, rerr := d.run(ctx, &raw); !isRefusal(rerr) {
			return resp, rerr
		}
	}
	if d.opts.GuessDir && t.mayBeDirectory() && isRefusal(err) {
		if dir, derr := t.asDirectory(); derr == nil {
			if listing, lerr := d.run(ctx, dir); !isRefusal(lerr) {
				return listing, lerr
			}
		}
	}
	if isRefusal(err) {
		err = d.otherKind(ctx, t, err)
	}
	return resp, err
}

// otherKind returns a better error if t takes a directory for a file or a file for a directory, and
// else err. In a URL only the final slash distinguishes them.
func (d *opener) otherKind(ctx context.Context, t *task, err error) error {
	other, what := t.otherKind()
	var refused *fetch.Error
	if other == nil || !errors.As(err, &refused) ||
		t.kind == retrieve && contains(strings.ToLower(refused.Reply.Text), absent) {
		return err
	}
	resp, oerr := d.run(ctx, other)
	if oerr != nil {
		return err
	}
	resp.Body.Close()
	if (resp.Kind == fetch.KindListing) != (t.kind == retrieve) {
		return err
	}
	e := &fetch.Error{Code: fetch.ErrRefused, Reply: refused.Reply,
		Err: fmt.Errorf("%s: %s", what, other.base.Redacted())}
	if t.kind == retrieve {
		e.Reason.Kind = fetch.ReasonDirectory
	}
	return e
}

// run performs t on a pooled connection. It takes another connection if the server has closed this
// one, has no way back from another directory, or cannot pipeline. The task has had no effect then.
func (d *opener) run(ctx context.Context, t *task) (*fetch.Response, error) {
	for {
		lease, err := d.lease(ctx, t)
		if err != nil {
			return nil, err
		}
		resp, err := d.perform(ctx, lease, t)
		switch {
		case err == nil:
			return resp, nil
		case lease.Reused && isStale(err) && ctx.Err() == nil:
			continue
		case errors.Is(err, errCannotPipeline) && ctx.Err() == nil:
			if d.pipelining.unable.Add(t.addr()) {
				d.env.Logger().Info("the server cannot pipeline; commands are now sent one at a time",
					"server", t.addr(), "error", err)
			}
			continue
		case ctx.Err() == nil && d.restarts.repeat(t.addr(), err):
			continue
		}
		return nil, err
	}
}

func (t *task) key() key {
	return key{addr: t.addr(), implicit: t.implicit(), login: t.url.Login}
}

func (d *opener) dial(ctx context.Context, t *task) (*session, error) {
	c := &control{env: d.env, addr: t.addr(), host: t.url.Host, implicit: t.implicit(),
		pipelining: d.pipelining}
	s := &session{conversation: c, control: c, opts: &d.opts, restarts: d.restarts}
	s.sendLogin = func(cred fetch.Credential, send func() error) error {
		if cred.User == "anonymous" {
			return send() // its refusal means that the server is full or has no public files
		}
		return d.tried.Send(ctx, d.env, t.req.URL, cred, send)
	}
	err := s.login(ctx, t, func(user string, attempt int) (fetch.Credential, error) {
		return d.env.Credential(ctx, fetch.Challenge{URL: t.req.URL, Mechanism: "ftp",
			User: user, Attempt: attempt})
	}, d.env.Identity().Email)
	if err != nil {
		c.abort()
		return nil, err
	}
	return s, nil
}

// A lease is the use of one session by one response.
type lease = *driver.Lease[key, *session]

// perform performs t in the session of the lease. The lease ends with the body of the response.
func (d *opener) perform(ctx context.Context, l lease, t *task) (*fetch.Response, error) {
	s := l.Conn
	s.control.lines.DoubleIAC = !t.rawIAC
	release := s.control.conn.Bind(ctx)
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
		return &fetch.Response{Meta: *meta, URL: t.base, Body: fetch.NoBody}, nil
	}
	x, err := s.transfer(ctx, t)
	if err == nil {
		err = s.complete(ctx, x)
	}
	if err != nil {
		return nil, done(err)
	}
	b := &transferBody{ctx: ctx, session: s, data: x.data.conn, final: x.final, size: x.meta.Size, done: done,
		listing: t.kind != retrieve, restarted: x.meta.Range.Offset > 0, left: x.limit, limited: x.limit > 0}
	b.warn = func() {
		if d.unannounced.Add(t.addr()) {
			d.env.Logger().Warn(
				"the server ends listings without the TLS close_notify, so entries may be missing",
				"server", t.addr())
		}
	}
	if offset := x.meta.Range.Offset; x.announced > 0 && offset > 0 && !b.limited {
		b.sizes = []int64{x.announced, x.announced - offset} // servers announce either
	}
	if b.data != nil {
		b.unbind = b.data.Bind(ctx)
		if t.kind != retrieve {
			b.data.PieceLines()
		}
	}
	return respond(t, x, b), nil
}

func (d *opener) Expect(req *fetch.Request) (fetch.Meta, bool) {
	t, err := d.newTask(req)
	if err != nil {
		return fetch.Meta{}, false
	}
	if t.kind != retrieve {
		return fetch.Meta{Kind: fetch.KindListing}, true
	}
	return fetch.Meta{ContentType: t.mediaType()}, true
}

// Explain implements fetch.Explainer. It returns the commands for a new connection to a server
// that supports all commands.
func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	t, err := d.newTask(req)
	if err != nil {
		return nil, err
	}
	r := &dryRun{tls: t.implicit()}
	s := &session{conversation: r, opts: &d.opts,
		sendLogin: func(_ fetch.Credential, send func() error) error { return send() }}
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
