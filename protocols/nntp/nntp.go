// Package nntp retrieves Usenet articles and lists newsgroups. It implements the schemes news, nntp,
// snews and nntps (RFC 1738, sections 3.6 and 3.7; RFC 5538) over NNTP (RFC 3977). It also supports
// servers of RFC 977.
package nntp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/bounded"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// Server is the news server for URLs without a host: "host", "host:port" or a URL such as
	// "nntps://host". "" means $NNTPSERVER, then the first line of /etc/news/server.
	Server string
	// Newest limits the listing of a group to its last articles; 0 means all.
	Newest int
	// Since excludes earlier articles from the listing of a group. The zero time means no limit.
	// Articles without a valid date are listed.
	Since time.Time
	// StartTLS requires STARTTLS (RFC 4642) for the schemes news and nntp, before any other command.
	// By default, STARTTLS is used only if the server requires a login or TLS.
	StartTLS bool
	// AllowPlaintext allows credentials to be sent without TLS if the server does not offer STARTTLS.
	// By default, this is only allowed for credentials in the URL, with a warning in the log, unless
	// the URL comes from another origin.
	AllowPlaintext bool
	// MaxConns limits the connections per server. 0 means 4.
	MaxConns int
}

const (
	defaultConns = 4
	maxWarned    = 1024
	idleTimeout  = 60 * time.Second // servers close idle connections after some minutes
)

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a loader for the driver with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
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

type opener struct {
	env   fetch.Env
	opts  Options
	pool  *mailsession.Pool[*session]
	tried driver.Logins
	// warnedServers contains the servers for which a plaintext password has been logged.
	warnedServers *bounded.Set[string]
	// defaultServer returns the URL of the default server.
	defaultServer func() (uri.URI, error)
}

func newDriver(env fetch.Env, opts Options) *opener {
	conns := cmp.Or(max(opts.MaxConns, 0), defaultConns)
	d := &opener{env: env, opts: opts, warnedServers: bounded.NewSet[string](maxWarned),
		defaultServer: sync.OnceValues(func() (uri.URI, error) { return findServer(opts.Server) })}
	d.pool = mailsession.NewPool(env, conns, idleTimeout, d.dial)
	return d
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := d.target(req)
	if err != nil {
		return nil, err
	}
	if t.isArticle() && req.Op != fetch.OpList {
		return d.openArticle(ctx, req, t)
	}
	d.resumePipeline(ctx, req, t)
	switch {
	case t.isArticle():
		return nil, fetch.ErrNotRetrievable.Errorf("an article has no members: %w", errors.ErrUnsupported)
	case t.isPattern():
		return d.openGroups(ctx, req, t)
	}
	return d.openGroup(ctx, req, t)
}

func (d *opener) CloseIdleConnections() { d.pool.CloseIdle() }

func (d *opener) Expect(req *fetch.Request) (fetch.Meta, bool) {
	t, err := d.target(req)
	switch {
	case err != nil:
		return fetch.Meta{}, false
	case t.isArticle():
		return fetch.Meta{Name: articleName(t), ContentType: "message/rfc822"}, true
	}
	return fetch.Meta{Kind: fetch.KindListing}, true
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	t, err := d.target(req)
	if err != nil {
		return nil, err
	}
	steps := []string{"connect to " + t.Addr()}
	switch {
	case t.TLS:
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
