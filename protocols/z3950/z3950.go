// Package z3950 is the driver for z39.50r and z39.50s: records of databases, mostly of library
// catalogues, by Z39.50 version 3 (RFC 2056; ISO 23950).
//
//	z39.50r://host/database?docid         the document with an identifier
//	z39.50s://host/                       the databases of a server, if it tells
//	z39.50s://host/database               the words of a database, to list
//	z39.50s://host/database?words         the records that have all the words
//	z39.50s://host/database?@attr+1=4+x   those that a query in prefix notation finds
//	z39.50s://host/database?words;item=3  the third of them
//
// The parameters ";esn=" and ";rs=" choose the element set and the record syntax.
package z3950

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch/driver"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

const (
	port = 210
	// defaultConns is the number of connections to one server.
	defaultConns = 4
	// idleTimeout is how long a session and its result set are kept.
	idleTimeout = 30 * time.Second
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// AllowPlaintext lets passwords travel to servers that want a login: the protocol has no TLS.
	AllowPlaintext bool
	// MaxConns is the number of connections to one server; 0 means 4.
	MaxConns int
}

// Load registers the driver with its defaults.
func Load(env driver.Env, reg *driver.Registry) { With(Options{})(env, reg) }

// With is like Load, with options.
func With(opts Options) driver.Loader {
	return func(env driver.Env, reg *driver.Registry) {
		conns := cmp.Or(max(opts.MaxConns, 0), defaultConns)
		d := &opener{env: env, opts: opts, pool: driver.NewPool[serverKey](env, driver.PoolOptions[*session]{
			MaxIdle: conns, MaxOpen: conns, IdleTimeout: idleTimeout,
			Conn:  func(s *session) (*driver.Conn, int) { return s.conn, s.r.Buffered() },
			Valid: func(s *session) bool { return !s.broken.Load() && s.r.Whole() },
			Close: func(s *session) { s.close() },
		})}
		for _, s := range []driver.Scheme{
			{Name: "z39.50r", Summary: "records of library catalogues and other databases, by their docid, over Z39.50 (RFC 2056)"},
			{Name: "z39.50s", Summary: "searches of library catalogues and other databases, over Z39.50 (RFC 2056)"},
		} {
			s.Port, s.Ops, s.Driver = port, []driver.Op{driver.OpGet, driver.OpStat, driver.OpList}, d
			reg.Register(s)
		}
	}
}

type opener struct {
	env  driver.Env
	opts Options
	pool *driver.Pool[serverKey, *session]
}

// Open implements driver.Driver.
func (d *opener) Open(ctx context.Context, req *driver.Request) (*driver.Response, error) {
	t, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case t.isRecord() && req.Op == driver.OpList:
		return nil, &driver.Error{Code: driver.ErrNotRetrievable, Err: fmt.Errorf("a record has no members: %w", errors.ErrUnsupported)}
	case t.isRecord():
		return d.openRecord(ctx, req, t)
	case t.query != "":
		return d.openHits(ctx, req, t)
	case t.databases == nil:
		return d.openDatabases(ctx, req, t)
	case req.Op == driver.OpList:
		return d.openTerms(ctx, t)
	}
	return nil, needWords(t)
}

// needWords is the error for a database that is not searched.
func needWords(t *target) error {
	e := &driver.Error{Code: driver.ErrNeedSearch}
	if u, err := t.sibling(t.path, "WORDS", 0); err == nil {
		e.Hint = "ask as in " + u.Redacted()
	}
	return e
}

// CloseIdleConnections implements driver.IdleCloser.
func (d *opener) CloseIdleConnections() { d.pool.CloseIdle() }

// Expect implements driver.Expecter.
func (d *opener) Expect(req *driver.Request) (driver.Meta, bool) {
	t, err := parse(req.URL)
	if err != nil || t.isRecord() || t.query == "" && t.databases != nil {
		return driver.Meta{}, false
	}
	return driver.Meta{Kind: driver.KindListing, ContentType: "text/uri-list"}, true
}

// Explain implements driver.Explainer.
func (d *opener) Explain(req *driver.Request) ([]string, error) {
	t, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	steps := []string{"connect to " + t.url.HostPort(port), describeInit(false)}
	switch {
	case t.query == "" && t.databases != nil && req.Op == driver.OpList:
		return append(steps, describeScan(codec.Scan{Databases: t.databases, Count: scanned,
			From: codec.Query{Attributes: []codec.Attribute{{Type: codec.AttrUse, Value: codec.UseAny}}}})), nil
	case t.query == "" && t.databases != nil:
		return nil, needWords(t)
	case t.databases == nil:
		return append(steps, describeSearch(codec.Search{Databases: []string{explainDatabase}, Query: explainQuery}),
			describePresent(codec.Present{Start: 1, Count: window, Syntax: codec.SyntaxExplain, ElementSet: "B"})), nil
	}
	words, document, err := t.searches()
	if err != nil {
		return nil, err
	}
	queries := append(words[:len(words):len(words)], document...)
	steps = append(steps, describeSearch(codec.Search{Databases: t.databases, Query: queries[0]}))
	start, count, elements := max(t.item, 1), int64(1), "F"
	if !t.isRecord() {
		count, elements = window, "B"
	}
	c, err := t.choose(req, elements)
	if err != nil {
		return nil, err
	}
	return append(steps, describePresent(codec.Present{Start: start, Count: count, Syntax: c.syntaxes[0], ElementSet: c.elements[0]})), nil
}

var (
	_ driver.IdleCloser = (*opener)(nil)
	_ driver.Explainer  = (*opener)(nil)
	_ driver.Expecter   = (*opener)(nil)
)
