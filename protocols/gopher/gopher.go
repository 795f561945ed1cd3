// Package gopher retrieves gopher URLs, over plain Gopher (RFC 1436), Gopher+ and Gopher over TLS
// (the scheme gophers).
//
// A menu is a listing: its Body is the menu as received, without the final line with a dot, and the
// Sys of each entry is an [Item]. The final line with a dot is also removed from text; other items
// are returned unchanged. Plain Gopher is close-delimited, so Meta.Framing is FramedByClose: a
// truncated document looks complete. Over TLS a connection that ends within a record is an error; a
// missing close_notify is not, because the servers in use do not send it.
//
// Gopher+ is only used if the URL selects it (RFC 1738, section 3.4.3), the request contains a
// form, or [Options] request it.
package gopher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// Load registers the schemes gopher and gophers with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a Loader that registers the schemes with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		d := &opener{env: env, opts: opts}
		for name, summary := range map[string]string{
			"gopher":  "menus, documents and searches over Gopher and Gopher+",
			"gophers": "Gopher over TLS, on the same port",
		} {
			reg.Register(fetch.Scheme{
				Name:         name,
				Port:         defaultPort,
				Ops:          []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
				ForwardProxy: name == "gopher",
				Traits:       fetch.Traits{Menus: true, Robots: "/0/robots.txt"},
				Summary:      summary,
				Driver:       d,
			})
		}
	}
}

// Options configure the driver. The zero value selects the defaults.
type Options struct {
	// Attributes retrieves the attributes of items instead of their content, and menus with the
	// attributes of all their items.
	Attributes bool
}

// apply changes g according to the options and the request. Both select Gopher+, which the server
// may not support. A URL that already has another Gopher+ string is not changed.
func (o Options) apply(g *uri.Gopher, req *fetch.Request) {
	op := req.Op
	switch {
	case o.Attributes && op == fetch.OpStat && g.Plus == "":
		g.Plus = "+"
	case o.Attributes && op != fetch.OpStat && (g.Plus == "" || g.Plus == "+" || g.Plus == "?"):
		if g.Plus = "!"; g.Type == '1' {
			g.Plus = "$"
		}
	case req.View != "" && (g.Plus == "" || g.Plus == "+"):
		g.Plus = "+" + parseView(req.View).String()
	}
}

type opener struct {
	env  fetch.Env
	opts Options
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	g, err := d.parse(req)
	if err != nil {
		return nil, err
	}
	to, err := d.redirect(req, g)
	switch {
	case err != nil:
		return nil, err
	case to.Scheme() == "cso":
		return d.env.Open(ctx, &fetch.Request{URL: to, Op: req.Op})
	case !to.IsZero():
		return &fetch.Response{Location: []uri.URI{to}, Body: fetch.NoBody}, nil
	}
	resp, err := d.item(ctx, req, g)
	if req.View != "" && err != nil {
		err = d.addViewsHint(ctx, g, err)
	}
	var moved *movedError
	if errors.As(err, &moved) {
		resp, err = &fetch.Response{Location: []uri.URI{moved.to}, Body: fetch.NoBody}, nil
		resp.Reply = moved.reply
	}
	return resp, err
}

func (d *opener) addViewsHint(ctx context.Context, g uri.Gopher, refusal error) error {
	var e *fetch.Error
	if !errors.As(refusal, &e) || e.Reply.IsZero() {
		return refusal
	}
	list, err := d.attributes(ctx, g)
	if err != nil {
		return refusal
	}
	var names []string
	for _, v := range views(list) {
		names = append(names, v.String())
	}
	if len(names) == 0 {
		return refusal
	}
	dup := *e
	dup.Code, dup.Hint = fetch.ErrNotFound, "available views: "+strings.Join(names, ", ")
	return &dup
}

func (d *opener) parse(req *fetch.Request) (uri.Gopher, error) {
	g, err := uri.ParseGopher(req.URL)
	if err != nil {
		return g, err
	}
	d.opts.apply(&g, req)
	return g, nil
}

// redirect returns the URL of an item that is not on the Gopher server, or the zero URI. It
// returns an error for an item that cannot be retrieved.
func (d *opener) redirect(req *fetch.Request, g uri.Gopher) (uri.URI, error) {
	if u := urlSelector(g.Selector); !u.IsZero() {
		return u, nil
	}
	typ := expectedType(g)
	switch {
	case g.Type == '2':
		// No Gopher server speaks CSO, so the default is the port of CSO.
		return otherURL("cso", g.Host, req.URL.Port(csoPort), csoPort, uri.Escape(g.Search))
	case itemTypes[g.Type].kind == fetch.EntrySession:
		scheme := map[byte]string{'8': "telnet", 'T': "tn3270"}[g.Type]
		session, err := sessionURL(scheme, g.Host, req.URL.Port(0), g.Selector)
		if err != nil {
			return uri.URI{}, err
		}
		return uri.URI{}, &fetch.Error{Code: fetch.ErrInteractive,
			Err:  fmt.Errorf("an item of type %c is a session", g.Type),
			Hint: "open " + session.Redacted()}
	case g.Type == 'i' || g.Type == '3':
		return uri.URI{}, fetch.ErrNotRetrievable.Errorf("an item of type %c is a line of a menu", g.Type)
	case req.Op == fetch.OpList && !isMenu(typ.media):
		return uri.URI{}, fetch.ErrNotRetrievable.Errorf("not a menu: %w", errors.ErrUnsupported)
	case g.Type == '7' && g.Search == "" && typ.media != attributesMedia &&
		(req.Op != fetch.OpStat || !needsAttributes(req, g)):
		return uri.URI{}, &fetch.Error{Code: fetch.ErrNeedSearch,
			Hint: "add the words after a tab: " + searchExample(req.URL)}
	// Only a form in a URL is sent as several lines, which another server might execute.
	case g.Form != nil && !req.From.IsZero():
		return uri.URI{}, fetch.ErrPolicy.Errorf("%s links to a form that is already filled in",
			req.From.Redacted())
	case g.Form != nil && d.env.ForeignRequest(req):
		return uri.URI{}, fetch.ErrPolicy.Errorf("an untrusted request may not fill in a form")
	}
	return uri.URI{}, nil
}

func (d *opener) item(ctx context.Context, req *fetch.Request, g uri.Gopher) (*fetch.Response, error) {
	data := formData(g)
	var changed time.Time
	if needsAttributes(req, g) {
		list, err := d.attributes(ctx, g)
		if err != nil {
			return nil, err
		}
		if req.Op == fetch.OpStat && list != nil {
			resp := metadataResponse(req, g, list)
			resp.Body = fetch.NoBody
			return resp, nil
		}
		changed = modTime(list)
		if known := req.IfChanged.ModTime; !known.IsZero() && !changed.IsZero() && !changed.After(known) {
			return nil, fetch.ErrNotModified.Errorf("not modified according to the attributes")
		}
		if g.Plus, data, err = planRequest(req, list); err != nil {
			return nil, err
		}
	}
	out, err := newRequest(g, data)
	if err != nil {
		return nil, err
	}
	resp, err := d.get(ctx, req, g, out)
	if err == nil && resp.ModTime.IsZero() {
		resp.ModTime = changed
	}
	return resp, err
}

// searchExample returns the URL of a search with its words, for a hint. If u has words after a question
// mark as in HTTP, it uses them: in Gopher, the question mark is part of the selector.
func searchExample(u uri.URI) string {
	words := "words"
	if before, after, ok := strings.Cut(u.String(), "?"); ok && after != "" {
		if plain, err := uri.Parse(before); err == nil {
			if query, err := uri.Unescape(strings.ReplaceAll(after, "+", " ")); err == nil {
				u, words = plain, query
			}
		}
	}
	u, _ = u.WithSearch(words)
	return u.Redacted()
}

// needsAttributes reports whether the attributes of g are requested first: for metadata, to fill in
// a form, to choose a view, or to detect a change.
func needsAttributes(req *fetch.Request, g uri.Gopher) bool {
	switch {
	case g.Form != nil:
		return false
	case req.Op == fetch.OpStat:
		return strings.HasPrefix(g.Plus, "+") || g.Plus == "?"
	}
	return req.Form != nil || g.Plus == "?" ||
		g.Plus == "+" && (hasPreference(req) || !req.IfChanged.ModTime.IsZero())
}

// planRequest returns the rest of a request after its attributes were read: the Gopher+ string with
// the preferred view, and the answers to the form.
func planRequest(req *fetch.Request, list []Attribute) (plus string, data block, err error) {
	plus = "+"
	if v, ok := choose(views(list), req); ok && hasPreference(req) {
		plus += v.String()
	}
	form, ok := parseForm(list)
	switch {
	case ok && req.Form == nil:
		return "", data, formError(form, nil)
	case ok:
		if data, err = fill(form, req.Form); err != nil {
			return "", data, formError(form, err)
		}
	case req.Form != nil:
		return "", data, fetch.ErrNotRetrievable.Errorf("the item has no form to fill in")
	}
	return plus, data, nil
}

func (d *opener) get(
	ctx context.Context, req *fetch.Request, g uri.Gopher, out request,
) (*fetch.Response, error) {
	c, err := d.ask(ctx, g, out)
	if err != nil {
		return nil, err
	}
	done := c.net.ReplyTimeout(d.env.Timeouts().Reply)
	resp, err := d.reply(c, req, g)
	done()
	if err != nil {
		c.Close()
		return nil, err
	}
	return driver.DropBody(req, resp), nil
}

func (d *opener) Expect(req *fetch.Request) (fetch.Meta, bool) {
	g, err := d.parse(req)
	if err != nil {
		return fetch.Meta{}, false
	}
	if to, err := d.redirect(req, g); err != nil || !to.IsZero() {
		return fetch.Meta{}, false
	}
	typ := expectedType(g)
	m := fetch.Meta{Name: fetch.SafeName(g.Selector), ContentType: typ.media}
	switch {
	case g.Plus == "?" && req.Form == nil && g.Form == nil:
		m.Form = &fetch.Form{}
	case isMenu(typ.media):
		m.Kind = fetch.KindListing
	case typ.media == attributesMedia:
		m.Name = attributesName(m.Name)
	}
	return m, true
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	g, err := d.parse(req)
	if err != nil {
		return nil, err
	}
	to, err := d.redirect(req, g)
	if err != nil {
		return nil, err
	}
	if !to.IsZero() {
		return []string{"continue with " + fetch.Printable(to.Redacted())}, nil
	}
	var steps []string
	if g.Scheme == "gophers" {
		steps = append(steps, "start TLS")
	}
	if needsAttributes(req, g) {
		ask := g
		ask.Plus, ask.Search = "!", ""
		out, err := newRequest(ask, block{})
		if err != nil {
			return nil, err
		}
		steps = append(steps, fmt.Sprintf("send %q", out.line),
			"connect again and send a request based on the attributes")
		g.Plus = "+"
	}
	out, err := newRequest(g, formData(g))
	if err != nil {
		return nil, err
	}
	for _, line := range out.shown() {
		steps = append(steps, fmt.Sprintf("send %q", line))
	}
	return steps, nil
}
