// Package cso searches CSO name servers, which are also known by their program
// as ph or qi: the directories of people behind items of type 2 in gopher
// menus.
//
//	cso://ns.example.edu/joe smith
//
// asks the server on port 105 for "query joe smith". The words may also stand
// after a question mark. The answer is a listing: Body holds the replies as the
// server sent them, and each line of a record is an entry, with a [Field] in
// Entry.Sys. The protocol is in RFC 2378.
package cso

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
)

const (
	port     = 105
	maxLine  = 8 << 10
	maxFirst = 100 // replies before the first with a result
)

// Load registers the scheme cso.
func Load(env *fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name:    "cso",
		Port:    port,
		Ops:     []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
		Summary: "searches of CSO name servers, the directories of people in gopher menus",
		Driver:  &driver{env},
	})
}

type driver struct{ env *fetch.Env }

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	query, err := command(req.URL)
	if err != nil {
		return nil, err
	}
	if req.Op > fetch.OpList {
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: errors.ErrUnsupported}
	}
	conn, err := d.env.Dial(ctx, "tcp", req.URL.HostPort(port))
	if err != nil {
		return nil, err
	}
	b := &body{conn: conn.(*wire.Conn), release: fetch.Bind(ctx, conn), r: wire.NewReader(conn, maxLine), trace: d.env.Trace()}
	first, err := d.ask(b, query)
	if err != nil {
		b.Close()
		return nil, err
	}
	resp := &fetch.Response{URL: req.URL, Body: b, Entries: entries(b)}
	resp.Kind, resp.ContentType, resp.Size = fetch.KindListing, "text/plain", -1
	resp.Name = fetch.SafeName(strings.TrimPrefix(query, "query "))
	resp.Reply = fetch.Reply{Code: first.code, Text: first.text}
	if req.Op == fetch.OpStat {
		b.Close()
		resp.Body, resp.Entries = http.NoBody, nil
	}
	return resp, nil
}

// command returns the query that a URL stands for.
func command(u uri.URI) (string, error) {
	if u.Host() == "" {
		return "", &fetch.Error{Code: fetch.ErrURL, Err: errors.New("no host")}
	}
	if _, ok := u.User(); ok {
		return "", &fetch.Error{Code: fetch.ErrURL, Err: errors.New("user name in a URL that cannot have one")}
	}
	words := u.URLPath()
	if query, ok := u.Query(); ok && strings.Trim(u.Path(), "/") == "" {
		words = strings.ReplaceAll(query, "+", " ") // RFC 1630
	}
	words, err := uri.Unescape(words)
	if err != nil {
		return "", err
	}
	if words = strings.TrimSpace(words); words == "" {
		return "", &fetch.Error{Code: fetch.ErrNeedSearch,
			Hint: "add a name after the host: cso://" + u.HostPort(port) + "/NAME"}
	}
	return "query " + words, nil
}

// ask sends the query and reads replies until one tells whether there is a
// result. It returns the first.
func (d *driver) ask(b *body, query string) (first reply, err error) {
	l := wire.NewLines(b.conn, maxLine)
	l.Trace = b.trace
	for _, line := range []string{query, "quit"} {
		if err := l.Queue(line); err != nil {
			return first, err
		}
	}
	if err := l.Flush(); err != nil {
		return first, err
	}
	timeouts := d.env.Timeouts()
	b.conn.SetIdle(timeouts.Reply)
	defer b.conn.SetIdle(timeouts.Idle)
	var head []byte
	for n := range maxFirst {
		got, err := b.next()
		if err != nil {
			return first, err
		}
		if n == 0 {
			first = got
		}
		head = append(head, b.rest...)
		if got.preliminary() {
			continue
		}
		b.rest = head
		if got.final() {
			return first, got.err()
		}
		return first, nil
	}
	return first, &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New("the server does not come to an answer")}
}

// Explain implements fetch.Explainer.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
	query, err := command(req.URL)
	if err != nil {
		return nil, err
	}
	return []string{fetch.Printable(query), "quit"}, nil
}

var (
	_ fetch.Driver    = (*driver)(nil)
	_ fetch.Explainer = (*driver)(nil)
)
