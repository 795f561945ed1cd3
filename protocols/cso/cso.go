// Package cso searches CSO name servers, also known as ph or qi after their client and server: the
// directories of people behind items of type 2 in gopher menus.
//
//	cso://ns.example.edu/joe smith
//
// sends the query "joe smith" to the server on port 105. The words may also follow a question mark.
// The response is a listing: Body holds the replies as the server sent them, and each record is an
// entry, with a [Record] in Entry.Sys. RFC 2378 describes the protocol.
package cso

import (
	"context"
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	port     = 105
	maxLine  = 8 << 10
	maxFirst = 100 // preliminary replies before the first with a result
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
	b := &replies{}
	ask := fetch.Question{Addr: req.URL.HostPort(port), Lines: []string{query, "quit"}}
	if err := d.env.Ask(ctx, ask, b.begin); err != nil {
		return nil, err
	}
	resp := &fetch.Response{URL: req.URL, Body: b, Parse: entries}
	resp.Kind, resp.ContentType, resp.Size = fetch.KindListing, "text/plain", -1
	resp.Name = fetch.SafeName(strings.TrimPrefix(query, "query "))
	resp.Reply = fetch.Reply{Code: b.first.code, Text: b.first.text}
	if req.Op == fetch.OpStat {
		b.Close()
		resp.Body, resp.Parse = fetch.NoBody, nil
	}
	return resp, nil
}

// command returns the query command for a URL.
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

// Expect implements fetch.Expecter.
func (d *driver) Expect(req *fetch.Request) (fetch.Meta, bool) {
	_, err := command(req.URL)
	return fetch.Meta{Kind: fetch.KindListing, ContentType: "text/plain"}, err == nil
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
	_ fetch.Expecter  = (*driver)(nil)
)
