// Package smb is the driver for smb URLs: shared files of Windows, Samba and network storage, over
// SMB 2 and 3 ([MS-SMB2]).
//
//	smb://host/                          the shares
//	smb://domain;user@host:port/share/   a directory
//	smb://user@host/share/path/file      a file
//
// The driver authenticates with NTLMv2. All messages of a session are signed. If the server requires
// encryption for the session or the share, they are encrypted instead. The keys are derived from the
// password.
//
// A path in a DFS namespace ([MS-DFSC]) leads to the server that has the files, like a redirect.
//
// Guest sessions have no keys. The driver rejects them unless the URL names the user guest, without
// a password.
package smb

import (
	"context"
	"errors"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// MaxConns limits the connections per share and user. Each connection serves one request at a
	// time. 0 means 4.
	MaxConns int
}

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is like Load, with options.
func With(opts Options) fetch.Loader {
	if opts.MaxConns <= 0 {
		opts.MaxConns = 4
	}
	return func(env fetch.Env, reg *fetch.Registry) {
		d := &opener{env: env}
		d.pool = driver.NewPool[key](env, driver.PoolOptions[*session]{
			MaxIdle: opts.MaxConns, MaxOpen: opts.MaxConns, IdleTimeout: idleTime,
			Conn:  func(s *session) (*fetch.Conn, int) { return s.conn, s.in.Buffered() },
			Valid: func(s *session) bool { return s.err == nil && len(s.outstanding) == 0 },
			Close: func(s *session) { s.conn.Close() },
		})
		reg.Register(fetch.Scheme{
			Name: "smb", Port: defaultPort,
			Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}, Ranges: true, Driver: d,
			Summary: "shared files and directories of Windows and Samba, over SMB 2 and 3",
		})
	}
}

const (
	defaultPort = 445
	// idleTime is the time after which an idle connection is closed.
	idleTime = time.Minute
)

type opener struct {
	env  fetch.Env
	pool *driver.Pool[key, *session]

	tried driver.Logins
}

func (d *opener) CloseIdleConnections() { d.pool.CloseIdle() }

type lease = *driver.Lease[key, *session]

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	t.foreign = d.env.Foreign(ctx)
	var resp *fetch.Response
	_, err = d.pool.Use(ctx, t.key(), nil,
		func(ctx context.Context) (*session, error) { return d.connect(ctx, t) },
		func(l lease) error {
			if resp, err = d.openResponse(l, t); err == nil && resp.Body == fetch.NoBody {
				l.Put() // otherwise the lease ends with the body
			}
			return err
		}, func(_ *session, err error) bool { return errors.Is(err, remotefile.ErrLost) })
	if ref := (*referral)(nil); errors.As(err, &ref) {
		return &fetch.Response{Location: ref.urls, Body: fetch.NoBody}, nil
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (d *opener) openResponse(l lease, t *target) (*fetch.Response, error) {
	if t.share == "" {
		return d.shares(l, t)
	}
	f, err := l.Conn.open(t.path, t.req.Op != fetch.OpStat)
	if errors.Is(err, errElsewhere) {
		return nil, l.Conn.refer(t, err)
	}
	if err != nil {
		return nil, err
	}
	if f.isDir() {
		return d.directory(l, t, f)
	}
	if err := remotefile.CheckFile(t.req, t.Dir); err != nil {
		return nil, errors.Join(err, l.Conn.close(f))
	}
	return d.file(l, t, f)
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	user := "the user of the credentials"
	if t.login.HasName {
		user = t.login.Name
	}
	steps := []string{"connect to " + t.addr, "log in as " + user,
		`TREE_CONNECT \\` + t.url.Host() + `\` + t.tree()}
	if t.share == "" {
		steps = append(steps, "list the shares")
	} else {
		steps = append(steps, "CREATE "+t.path)
	}
	for i := range steps {
		steps[i] = fetch.Printable(steps[i])
	}
	return steps, nil
}
