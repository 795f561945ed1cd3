// Package rsync is the driver for rsync URLs (RFC 5781): files and directories of rsync daemons, over
// versions 27 to 31 of their protocol. It only reads.
//
//	rsync://host/                       the modules
//	rsync://user@host:port/module/dir/  a directory
//	rsync://host/module/dir/file        a file
//
// The driver retrieves whole files: it has no copy to compare with, so the server sends no
// differences. A file is complete if it has the size in the file list and the checksum that the
// server sends after it. The protocol cannot begin within a file.
//
// A session of the protocol ends with its transfer, so each request has a connection of its own. A
// password is never sent; the response to the server's challenge proves it. Symbolic links to files and
// directories are followed by the server.
package rsync

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/codec/rsync"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

const (
	defaultPort = 873
	// maxConns limits the connections to a server. Many servers accept only a few, and hold no more than five
	// that they have not accepted yet.
	maxConns = 4
)

// Load registers the scheme rsync.
func Load(env fetch.Env, reg *fetch.Registry) { with(rsync.MaxProtocol)(env, reg) }

// with limits the version of the protocol that the driver announces.
func with(protocol int) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{
			Name: "rsync", Port: defaultPort,
			Ops:     []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
			Traits:  fetch.Traits{Tree: true},
			Summary: "files and directories of rsync daemons",
			Driver:  newDriver(env, protocol),
		})
	}
}

type opener struct {
	env      fetch.Env
	protocol int
	pool     *driver.Pool[string, *fetch.Conn] // by "host:port"; it keeps no idle connections
	tried    driver.Logins
}

func newDriver(env fetch.Env, protocol int) *opener {
	return &opener{env: env, protocol: protocol, pool: driver.NewPool[string](env,
		driver.PoolOptions[*fetch.Conn]{MaxOpen: maxConns, Close: func(c *fetch.Conn) { c.Close() }})}
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := newTarget(req)
	switch {
	case err != nil:
		return nil, err
	case t.module == "":
		return d.modules(ctx, t)
	case len(t.names) == 0, t.Dir && req.Op != fetch.OpStat:
		return d.directory(ctx, t)
	}
	s, err := d.connect(ctx, t)
	if err != nil {
		return nil, err
	}
	resp, err := d.openItem(s, t)
	if err != nil || resp == nil || resp.Body == fetch.NoBody {
		s.close()
	}
	if err == nil && resp == nil {
		return d.directory(ctx, t)
	}
	return resp, err
}

// openItem returns nil for a directory to list: its members need a request of their own.
func (d *opener) openItem(s *session, t *target) (*fetch.Response, error) {
	item, err := s.lookup(t)
	if err != nil {
		return nil, err
	}
	if item.IsDir() {
		s.leave()
		dir := remotefile.Member(t.Directory(), "", false)
		resp, read := remotefile.Listing(t.req, dir, t.name(), item.ModTime)
		if read {
			return nil, nil
		}
		return resp, nil
	}
	if err := remotefile.CheckFile(t.req, t.Dir); err != nil {
		s.leave()
		return nil, err
	}
	return s.file(t, item)
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	steps := []string{"connect to " + t.addr}
	if t.module == "" {
		return append(steps, "request the list of modules"), nil
	}
	steps = append(steps, "request module "+fetch.Printable(t.module),
		"log in if the server asks for it")
	path := fetch.Printable(t.path(t.Dir))
	switch {
	case req.Op == fetch.OpList, t.Dir:
		steps = append(steps, "request the file list of "+path)
	case req.Op == fetch.OpStat:
		steps = append(steps, fmt.Sprintf("request the entry of %s in the file list", path))
	default:
		steps = append(steps, fmt.Sprintf("request %s or, if it is a directory, its file list", path))
	}
	return steps, nil
}
