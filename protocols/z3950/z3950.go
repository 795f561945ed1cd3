// Package z3950 is the driver for z39.50r and z39.50s URLs (RFC 2056). It retrieves records from
// databases, mostly library catalogues, over Z39.50 version 3 (ISO 23950).
//
//	z39.50r://host/database?docid         the document with the identifier docid
//	z39.50s://host/                       a listing of the databases, if the server has Explain
//	z39.50s://host/database               a listing of the indexed terms of a database
//	z39.50s://host/database?words         a listing of the records with all words
//	z39.50s://host/database?@attr+1=4+x   a listing of the results of a query in prefix notation
//	z39.50s://host/database?words;item=3  the third record of a listing
//
// The parameters ";esn=" and ";rs=" choose the element set and the record syntax.
package z3950

import (
	"context"
	"errors"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

const (
	port = 210
	// maxConns limits the connections to one server.
	maxConns = 4
	// idleTimeout is the time after which an idle session is closed.
	idleTimeout = 30 * time.Second
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// AllowPlaintext permits sending passwords to servers that require a login. The protocol does not
	// use TLS.
	AllowPlaintext bool
}

// Load registers the driver with the default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a loader that registers the driver with opts.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		d := &opener{env: env, opts: opts, pool: driver.NewPool[serverKey](env, driver.PoolOptions[*session]{
			MaxIdle: maxConns, MaxOpen: maxConns, IdleTimeout: idleTimeout,
			Conn:  func(s *session) (*fetch.Conn, int) { return s.conn, s.r.Buffered() },
			Valid: func(s *session) bool { return !s.broken.Load() && s.r.Complete() },
			Close: func(s *session) { s.close() },
		})}
		for _, s := range []fetch.Scheme{
			{Name: "z39.50r",
				Summary: "records of library catalogues and other databases, by their docid, " +
					"over Z39.50 (RFC 2056)"},
			{Name: "z39.50s",
				Summary: "searches of library catalogues and other databases, over Z39.50 (RFC 2056)"},
		} {
			s.Port, s.Ops, s.Driver = port, []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}, d
			reg.Register(s)
		}
	}
}

type opener struct {
	env  fetch.Env
	opts Options
	pool *driver.Pool[serverKey, *session]

	tried driver.Logins
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case t.isRecord() && req.Op == fetch.OpList:
		return nil, fetch.ErrNotRetrievable.Errorf("a record has no members: %w", errors.ErrUnsupported)
	case t.isRecord():
		return d.openRecord(ctx, req, t)
	case t.query != "":
		return d.openHits(ctx, req, t)
	case t.databases == nil:
		return d.openDatabases(ctx, req, t)
	case req.Op == fetch.OpList:
		return d.openTerms(ctx, t)
	}
	return nil, needSearchError(t)
}

func needSearchError(t *target) error {
	e := &fetch.Error{Code: fetch.ErrNeedSearch}
	if u, err := t.sibling(t.path, "WORDS", 0); err == nil {
		e.Hint = "use " + u.Redacted()
	}
	return e
}

func (d *opener) CloseIdleConnections() { d.pool.CloseIdle() }

func (d *opener) Expect(req *fetch.Request) (fetch.Meta, bool) {
	t, err := parse(req.URL)
	if err != nil || t.isRecord() || t.query == "" && t.databases != nil {
		return fetch.Meta{}, false
	}
	return fetch.Meta{Kind: fetch.KindListing, ContentType: "text/uri-list"}, true
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	t, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	steps := []string{"connect to " + t.url.HostPort(port), describeInit(false)}
	switch {
	case t.query == "" && t.databases != nil && req.Op == fetch.OpList:
		anything := codec.Query{Attributes: []codec.Attribute{{Type: codec.AttrUse, Value: codec.UseAny}}}
		return append(steps, describeScan(codec.Scan{Databases: t.databases, Count: termsPerRequest,
			From: anything})), nil
	case t.query == "" && t.databases != nil:
		return nil, needSearchError(t)
	case t.databases == nil:
		return append(steps, describeSearch(explainSearch),
			describePresent(codec.Present{Start: 1, Count: recordsPerRequest,
				Syntax: codec.SyntaxExplain, ElementSet: "B"})), nil
	}
	words, document, err := t.searches()
	if err != nil {
		return nil, err
	}
	queries := append(words[:len(words):len(words)], document...)
	steps = append(steps, describeSearch(codec.Search{Databases: t.databases, Query: queries[0]}))
	start, count, elements := max(t.item, 1), int64(1), "F"
	if !t.isRecord() {
		count, elements = recordsPerRequest, "B"
	}
	c, err := t.choose(req, elements)
	if err != nil {
		return nil, err
	}
	return append(steps, describePresent(codec.Present{Start: start, Count: count,
		Syntax: c.syntaxes[0], ElementSet: c.elements[0]})), nil
}
