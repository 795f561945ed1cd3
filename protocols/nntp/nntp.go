// Package nntp retrieves Usenet articles and lists newsgroups: the schemes news, nntp, snews and
// nntps (RFC 1738, sections 3.6 and 3.7; RFC 5538) over NNTP (RFC 3977), with servers of RFC 977
// too.
package nntp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/bounded"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// Server is the news server for URLs that name none: "host", "host:port" or a URL such as
	// "nntps://host". "" means $NNTPSERVER, then the first line of /etc/news/server.
	Server string
	// Newest limits the listing of a group to its last articles; 0 means all.
	Newest int
	// Since limits the listing of a group to articles that are not dated earlier; zero means no
	// limit. Articles without a readable date are listed.
	Since time.Time
	// StartTLS begins TLS on the connections of news and nntp before anything else is sent (RFC
	// 4642). Without it that is done only when the server asks for a login or for TLS.
	StartTLS bool
	// AllowPlaintext lets user name and password travel without TLS, if the server has no STARTTLS.
	// Those that the URL itself holds do so in any case, with a warning in the log, unless another
	// origin led to the URL.
	AllowPlaintext bool
	// MaxConns is the number of connections to one server; 0 means 4.
	MaxConns int
}

const (
	defaultConns = 4
	maxWarned    = 1024
	idleTimeout  = 60 * time.Second // servers hang up after some minutes
)

// Load registers the driver with default options.
func Load(env *fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is Load with options.
func With(opts Options) fetch.Loader {
	return func(env *fetch.Env, reg *fetch.Registry) {
		d := newDriver(env, opts)
		ops := []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}
		for _, s := range []fetch.Scheme{
			{Name: "news", Port: 119, Summary: "Usenet newsgroups and articles, by name or message-id"},
			{Name: "nntp", Port: 119, Summary: "Usenet articles by their number on one news server"},
			{Name: "nntps", Port: 563, Summary: "the same as nntp, over TLS"},
			{Name: "snews", Port: 563, Summary: "the same as news, over TLS"},
		} {
			s.Ops, s.Pipelined, s.Driver = ops, true, d
			reg.Register(s)
		}
	}
}

type driver struct {
	env  *fetch.Env
	opts Options
	pool *fetch.Pool[serverKey, *session]
	// warned are the servers that were sent a password in plaintext.
	warned *bounded.Set[string]
	// server finds the default server, once.
	server func() (uri.URI, error)
}

func newDriver(env *fetch.Env, opts Options) *driver {
	conns := opts.MaxConns
	if conns <= 0 {
		conns = defaultConns
	}
	return &driver{
		env:  env,
		opts: opts,

		warned: bounded.NewSet[string](maxWarned),
		pool: fetch.NewPool[serverKey](env, fetch.PoolOptions[*session]{
			MaxIdle: conns, MaxOpen: conns, IdleTimeout: idleTimeout,
			Conn:  func(s *session) (*fetch.Conn, int) { return s.conn, s.lines.Reader().Buffered() },
			Valid: func(s *session) bool { return s.lines.Err() == nil },
			Close: func(s *session) { s.close() },
		}),
		server: sync.OnceValues(func() (uri.URI, error) { return findServer(opts.Server) }),
	}
}

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := d.target(req)
	if err != nil {
		return nil, err
	}
	if t.isArticle() && req.Op != fetch.OpList {
		return d.openArticle(ctx, req, t)
	}
	d.takeKept(ctx, req, t)
	switch {
	case t.isArticle():
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("an article has no members: %w", errors.ErrUnsupported)}
	case t.isPattern():
		return d.openGroups(ctx, req, t)
	}
	return d.openGroup(ctx, req, t)
}

// CloseIdleConnections implements fetch.IdleCloser.
func (d *driver) CloseIdleConnections() { d.pool.CloseIdle() }

// Expect implements fetch.Expecter.
func (d *driver) Expect(req *fetch.Request) (fetch.Meta, bool) {
	t, err := d.target(req)
	switch {
	case err != nil:
		return fetch.Meta{}, false
	case t.isArticle():
		return fetch.Meta{Name: articleName(t), ContentType: "message/rfc822"}, true
	}
	return fetch.Meta{Kind: fetch.KindListing}, true
}

// Explain implements fetch.Explainer.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
	t, err := d.target(req)
	if err != nil {
		return nil, err
	}
	steps := []string{"connect to " + net.JoinHostPort(t.host, fmt.Sprint(t.port))}
	switch {
	case t.tls:
		steps = append(steps, "TLS")
	case d.opts.StartTLS:
		steps = append(steps, "STARTTLS")
	}
	steps = append(steps, "CAPABILITIES")
	verb := "ARTICLE "
	if req.Op == fetch.OpStat {
		verb = "HEAD "
	}
	switch {
	case t.id != "":
		steps = append(steps, verb+"<"+t.id+">")
	case t.isArticle():
		steps = append(steps, "GROUP "+t.group, verb+fmt.Sprint(t.number))
	case t.isPattern():
		steps = append(steps, "LIST NEWSGROUPS "+t.group, "LIST ACTIVE "+t.group)
	default:
		steps = append(steps, "GROUP "+t.group, "OVER (range by range)")
	}
	return steps, nil
}

var (
	_ fetch.Driver     = (*driver)(nil)
	_ fetch.IdleCloser = (*driver)(nil)
	_ fetch.Explainer  = (*driver)(nil)
	_ fetch.Expecter   = (*driver)(nil)
)
