// Package nfs is the driver for nfs URLs (RFC 2224): files and directories of NFS servers, over
// version 3 of the protocol and TCP (RFC 1813). It only reads.
//
// A path is looked up as a whole from the public file handle of the server (RFC 2054). If the server
// has none, the driver finds its exports with the MOUNT protocol. The path is then absolute and
// looked up element by element.
//
// Names are byte strings and are sent as decoded. NUL and an encoded slash are not allowed. Symbolic
// links are followed as long as they stay below the public directory or the export.
package nfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// A User is the identity sent in AUTH_SYS credentials (RFC 5531, section 8.2). Servers may trust,
// map, or reject it.
type User struct {
	UID, GID uint32
	GIDs     []uint32 // supplementary groups; only the first 16 are sent
}

// Options configures the driver. The zero value is the default.
type Options struct {
	// User is the identity to send; nil means nobody, 65534. Foreign requests (see
	// fetch.Env.Foreign) are always sent as nobody.
	User *User
	// MountPort is the port of the MOUNT protocol. 0 means the NFS port or, if that does not serve
	// MOUNT, the port from the port mapper.
	MountPort uint16
	// PortmapPort is the port of the port mapper; 0 means 111.
	PortmapPort uint16
	// AnyPort connects from an unreserved local port even if reserved ports are permitted. Many
	// servers accept connections from reserved ports only.
	AnyPort bool
}

const (
	defaultPort = 2049
	portmapPort = 111
	nobody      = 65534
	// maxConns limits the connections to a server, which each serve one request at a time.
	maxConns = 16
	// idleTime is how long an idle connection stays open.
	idleTime = time.Minute
)

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is like Load, with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{
			Name: "nfs", Port: defaultPort,
			Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}, Ranges: true,
			Traits: fetch.Traits{Tree: true}, Driver: newDriver(env, opts),
			Summary: "files and directories over NFS version 3",
		})
	}
}

type opener struct {
	env  fetch.Env
	opts Options
	pool *driver.Pool[string, *conn] // by "host:port"
	// unprivileged is set once the system has refused a reserved port.
	unprivileged atomic.Bool

	mu      sync.Mutex
	servers map[serverKey]*server
}

func newDriver(env fetch.Env, opts Options) *opener {
	opts.PortmapPort = cmp.Or(opts.PortmapPort, portmapPort)
	d := &opener{env: env, opts: opts, servers: make(map[serverKey]*server)}
	d.unprivileged.Store(opts.AnyPort)
	d.pool = driver.NewPool[string](env, driver.PoolOptions[*conn]{
		MaxIdle: maxConns, MaxOpen: maxConns, IdleTimeout: idleTime,
		Conn:  func(c *conn) (*fetch.Conn, int) { return c.net, c.r.Buffered() },
		Valid: func(c *conn) bool { return c.err == nil && len(c.waiting) == 0 && len(c.early) == 0 },
		Close: func(c *conn) { c.net.Abort() },
	})
	return d
}

func (d *opener) cred(ctx context.Context) nfs3.Cred {
	c := nfs3.Cred{Flavor: nfs3.FlavorSys, UID: nobody, GID: nobody}
	if u := d.opts.User; u != nil && !d.env.Foreign(ctx) {
		c.UID, c.GID, c.GIDs = u.UID, u.GID, u.GIDs
	}
	return c
}

func (d *opener) CloseIdleConnections() { d.pool.CloseIdle() }

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	s := d.server(ctx, t.addr)
	for again := true; ; again = false {
		resp, err := d.perform(ctx, t, s)
		if again && errors.Is(err, errStaleHandle) && s.forget(ctx) {
			continue // the server has restarted or the export has changed
		}
		return resp, err
	}
}

func (d *opener) perform(ctx context.Context, t *target, s *server) (resp *fetch.Response, err error) {
	_, err = d.pool.Use(ctx, t.addr, nil,
		func(ctx context.Context) (*conn, error) { return d.connect(ctx, t.addr) },
		func(pooled *driver.Lease[string, *conn]) error {
			l := &lease{conn: pooled.Conn, Lease: pooled}
			l.cred = d.cred(ctx)
			if resp, err = d.openResponse(ctx, l, t, s); err == nil && resp.Body == fetch.NoBody {
				l.Put()
			}
			return err
		}, func(c *conn, _ error) bool { return isLost(c.err) })
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (d *opener) openResponse(ctx context.Context, l *lease, t *target, s *server) (*fetch.Response, error) {
	w, err := d.find(ctx, l, t, s)
	if err != nil {
		return nil, err
	}
	switch {
	case w.exports != nil:
		return listExports(t, w.exports), nil
	case w.at.attr.IsDir():
		return d.directory(l, t, w)
	}
	if err := remotefile.CheckFile(t.req, t.Dir); err != nil {
		return nil, err
	}
	return d.file(l, t, w.at)
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	c := d.cred(context.Background())
	if d.env.ForeignRequest(req) {
		c.UID, c.GID = nobody, nobody
	}
	steps := []string{"connect to " + t.addr, fmt.Sprintf("authenticate as user %d, group %d", c.UID, c.GID),
		"LOOKUP " + fetch.Printable(canonical(t.names, t.absolute)) +
			" from the public file handle, or from an export found with MOUNT"}
	switch req.Op {
	case fetch.OpGet:
		steps = append(steps, "READ, or READDIRPLUS if it is a directory")
	case fetch.OpList:
		steps = append(steps, "READDIRPLUS")
	}
	return steps, nil
}
