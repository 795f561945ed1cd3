// Package smb is the driver for smb URLs: the files that Windows, Samba and network storage share, by
// SMB 2 and 3 ([MS-SMB2]).
//
//	smb://host/                          the shares
//	smb://domain;user@host:port/share/   a directory
//	smb://user@host/share/path/file      a file
//
// Login is by NTLM, version 2. Every message of a session is signed, in both directions. If the server
// demands encryption, of the session or of the share, every message is encrypted instead. The keys
// come from the password.
//
// A guest has no keys. The driver refuses to continue as a guest unless the URL names the user guest,
// without a password.
package smb

import (
	"context"
	"errors"
	"time"

	"github.com/urlget/urlget/fetch"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// MaxConns limits the connections to a share for a user, each of which serves one request at a
	// time. 0 means 4.
	MaxConns int
}

// Load registers the driver with default options.
func Load(env *fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is like Load, with options.
func With(opts Options) fetch.Loader {
	if opts.MaxConns <= 0 {
		opts.MaxConns = 4
	}
	return func(env *fetch.Env, reg *fetch.Registry) {
		d := &driver{env: env}
		d.pool = fetch.NewPool[key](env, fetch.PoolOptions[*session]{
			MaxIdle: opts.MaxConns, MaxOpen: opts.MaxConns, IdleTimeout: idleTime,
			Conn:  func(s *session) (*fetch.Conn, int) { return s.conn, s.in.Buffered() },
			Valid: func(s *session) bool { return s.broken == nil && len(s.waiting) == 0 },
			Close: func(s *session) { s.conn.Close() },
		})
		reg.Register(fetch.Scheme{
			Name: "smb", Port: defaultPort, Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}, Ranges: true, Driver: d,
			Summary: "files and directories that Windows and Samba share, by SMB 2 and 3",
		})
	}
}

const (
	defaultPort = 445
	// idleTime is how long an idle connection is kept.
	idleTime = time.Minute
)

type driver struct {
	env  *fetch.Env
	pool *fetch.Pool[key, *session]
}

// CloseIdleConnections implements fetch.IdleCloser.
func (d *driver) CloseIdleConnections() { d.pool.CloseIdle() }

// A lease is the use of a connection by one response.
type lease = *fetch.Lease[key, *session]

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	t.foreign = d.env.Foreign(ctx)
	for {
		l, err := d.pool.Get(ctx, t.key(), nil, func(ctx context.Context) (*session, error) { return d.connect(ctx, t) })
		if err != nil {
			return nil, err
		}
		resp, err := d.perform(ctx, l, t)
		if l.Reused && errors.Is(err, errLost) && ctx.Err() == nil {
			continue // the server had closed it
		}
		return resp, err
	}
}

// perform performs the request on the connection of the lease. The lease ends with the body of the
// response.
func (d *driver) perform(ctx context.Context, l lease, t *target) (*fetch.Response, error) {
	l.Bind(ctx)
	resp, err := d.answer(l, t)
	if err != nil || resp.Body == fetch.NoBody {
		l.Put()
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// answer performs the requests for t up to the response.
func (d *driver) answer(l lease, t *target) (*fetch.Response, error) {
	if t.share == "" {
		return d.shares(l, t)
	}
	f, err := l.Conn.open(t.path, t.req.Op != fetch.OpStat)
	if err != nil {
		return nil, err
	}
	switch {
	case f.isDir():
		return d.directory(l, t, f)
	case t.dir:
		err = &fetch.Error{Code: fetch.ErrNotFound, Err: errors.New("not a directory, as the slash at the end of the URL says")}
	case t.req.Op == fetch.OpList:
		err = &fetch.Error{Code: fetch.ErrNotRetrievable, Err: errNotDirectory}
	default:
		return d.file(l, t, f)
	}
	return nil, errors.Join(err, l.Conn.close(f))
}

// Explain implements fetch.Explainer.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	who := "the user of the credentials"
	if t.login.HasName {
		who = t.login.Name
	}
	steps := []string{"connect to " + t.addr, "log in as " + who, `TREE_CONNECT \\` + t.url.Host() + `\` + t.tree()}
	if t.share == "" {
		steps = append(steps, "ask for the shares")
	} else {
		steps = append(steps, "CREATE "+t.path)
	}
	for i := range steps {
		steps[i] = fetch.Printable(steps[i])
	}
	return steps, nil
}

var (
	_ fetch.Driver     = (*driver)(nil)
	_ fetch.IdleCloser = (*driver)(nil)
	_ fetch.Explainer  = (*driver)(nil)
)
