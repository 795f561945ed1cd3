// Package cso searches CSO name servers (RFC 2378), which are directories of people. They are also
// known as ph or qi, after their client and server. Gopher menus link to them with items of type 2.
//
//	cso://ns.example.edu/joe smith
//
// sends the query "joe smith" to the server on port 105. The words may also follow a question mark.
// The response is a listing: Body contains the replies as the server sent them, and each record is
// an entry, with a [Record] in Entry.Sys.
package cso

import (
	"context"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	port           = 105
	maxLine        = 8 << 10
	maxPreliminary = 100 // limit for preliminary replies before the first result
)

// Load registers the scheme cso.
func Load(env fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{
		Name:    "cso",
		Port:    port,
		Ops:     []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
		Summary: "searches of CSO name servers, the directories of people in gopher menus",
		Driver:  &opener{env},
	})
}

type opener struct{ env fetch.Env }

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	query, err := command(req.URL)
	if err != nil {
		return nil, err
	}
	b := &replies{}
	question := driver.Question{Addr: req.URL.HostPort(port), Lines: []string{query, "quit"}}
	if err := driver.Ask(ctx, d.env, question, b.begin); err != nil {
		return nil, err
	}
	resp := &fetch.Response{URL: req.URL, Body: b, Parse: entries}
	resp.Kind, resp.ContentType, resp.Size = fetch.KindListing, "text/plain", -1
	resp.Name = fetch.SafeName(strings.TrimPrefix(query, "query "))
	resp.Reply = fetch.Reply{Code: b.first.code, Text: b.first.text}
	return driver.DropBody(req, resp), nil
}

func command(u uri.URI) (string, error) {
	if u.Host() == "" {
		return "", fetch.ErrURL.Errorf("the URL has no host")
	}
	if _, ok := u.User(); ok {
		return "", fetch.ErrURL.Errorf("a cso URL cannot have a user name")
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

func (d *opener) Expect(req *fetch.Request) (fetch.Meta, bool) {
	_, err := command(req.URL)
	return fetch.Meta{Kind: fetch.KindListing, ContentType: "text/plain"}, err == nil
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	query, err := command(req.URL)
	if err != nil {
		return nil, err
	}
	return []string{fetch.Printable(query), "quit"}, nil
}
