// Package mid retrieves messages and their parts by their identifiers: the schemes mid and cid (RFC
// 1630; RFC 2392). It searches received mail and, for mid, the news server.
package mid

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/mailbox"
)

// Options configure the driver. The zero value selects the defaults.
type Options struct {
	// Mailboxes are mbox files and Maildir directories. Nil means $MAIL and ~/Maildir, if they
	// exist.
	Mailboxes []string
	// CacheDir is the directory for the index of mailboxes; "" means "urlget" in the user's cache
	// directory.
	CacheDir string
}

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a Loader that registers the driver with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		d := &opener{env, opts}
		ops := []fetch.Op{fetch.OpGet, fetch.OpStat}
		reg.Register(fetch.Scheme{Name: "mid", Ops: ops, Local: true, Driver: d,
			Summary: "messages in received mail, by message-id"})
		// Not Local: any message may link to its own parts. For other requests, openPart itself
		// protects the mailboxes.
		reg.Register(fetch.Scheme{Name: "cid", Ops: ops, Driver: fetch.DriverFunc(d.openPart),
			Summary: "parts of a message, by content-id"})
	}
}

type opener struct {
	env  fetch.Env
	opts Options
}

func (d *opener) boxes() *mailbox.Boxes {
	b := &mailbox.Boxes{Paths: d.opts.Mailboxes, Cache: d.opts.CacheDir}
	if b.Paths == nil {
		b.Paths = mailbox.Default()
	}
	b.Cache = cmp.Or(b.Cache, mailbox.DefaultCache())
	return b
}

// Open implements fetch.Driver for mid.
func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	id, err := uri.ParseMID(req.URL)
	if err != nil {
		return nil, err
	}
	boxes := d.boxes()
	m, err := boxes.Find(ctx, id.MessageID)
	var resp *fetch.Response
	switch {
	case err == nil:
		resp, err = respond(m)
	case errors.Is(err, mailbox.ErrNotFound):
		resp, err = d.fromNews(ctx, req.Op, id, notFound("message <"+id.MessageID+">", boxes, err))
	}
	if err != nil {
		return nil, err
	}
	if id.ContentID != "" {
		if resp, err = part(resp, id.ContentID); err != nil {
			return nil, err
		}
	}
	resp.URL = req.URL
	return finish(req, resp)
}

// fromNews retrieves a message that is not in a mailbox from the news server, if there is one. In
// RFC 1630, both share one name space.
func (d *opener) fromNews(
	ctx context.Context, op fetch.Op, id uri.MID, missing *fetch.Error,
) (*fetch.Response, error) {
	if id.ContentID != "" {
		op = fetch.OpGet // a header does not describe the parts
	}
	article, err := uri.News{MessageID: id.MessageID}.URI()
	if err != nil {
		return nil, missing // the identifier is not valid for an article
	}
	resp, err := d.env.Open(ctx, &fetch.Request{Op: op, URL: article})
	switch code := fetch.CodeOf(err); {
	case err == nil:
		return resp, nil
	case code == fetch.ErrURL || code == fetch.ErrScheme || code == fetch.ErrNoServer:
		missing.Err = fmt.Errorf("%w, and no news server is configured", missing.Err)
	case code == fetch.ErrNotFound:
		missing.Err = fmt.Errorf("%w, and not on the news server", missing.Err)
	default:
		return nil, err
	}
	return nil, missing
}

// openPart implements fetch.Driver for cid.
func (d *opener) openPart(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	id, err := uri.ParseCID(req.URL)
	if err != nil {
		return nil, err
	}
	var resp *fetch.Response
	switch {
	case !req.From.IsZero():
		resp, err = d.enclosing(ctx, req.From)
	case d.env.Foreign(ctx):
		err = &fetch.Error{Code: fetch.ErrPolicy,
			Reason: fetch.Reason{Kind: fetch.ReasonLocal, Scheme: "cid"},
			Err:    errors.New("an untrusted request may not search the mailboxes")}
	default:
		resp, err = d.received(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	if resp, err = part(resp, id.ContentID); err != nil {
		return nil, err
	}
	resp.URL = req.URL
	return finish(req, resp)
}

func (d *opener) received(ctx context.Context, id uri.CID) (*fetch.Response, error) {
	boxes := d.boxes()
	m, err := boxes.FindPart(ctx, id.ContentID)
	if errors.Is(err, mailbox.ErrNotFound) {
		return nil, notFound("part <"+id.ContentID+">", boxes, err)
	}
	if err != nil {
		return nil, err
	}
	return respond(m)
}

func (d *opener) enclosing(ctx context.Context, from uri.URI) (*fetch.Response, error) {
	target := from.WithoutFragment()
	if id, err := uri.ParseMID(target); err == nil {
		id.ContentID = "" // the URL was in a part of the message
		if target, err = id.URI(); err != nil {
			return nil, err
		}
	}
	// From is the message itself, because the message leads to its parts.
	resp, err := d.env.Open(ctx, &fetch.Request{URL: target, From: from})
	if err != nil {
		return nil, err
	}
	kind := resp.ContentType
	if !strings.HasPrefix(kind, "message/") && !strings.HasPrefix(kind, "multipart/") {
		resp.Body.Close()
		return nil, fetch.ErrNotRetrievable.Errorf("%s is not a message, so it has no parts",
			target.Redacted())
	}
	return resp, nil
}

func respond(m *mailbox.Message) (*fetch.Response, error) {
	body, err := m.Open()
	if err != nil {
		return nil, err
	}
	head, err := message.ReadHead(body, 0)
	if err != nil {
		body.Close()
		return nil, err
	}
	h := message.ParseHeader(head)
	resp := &fetch.Response{
		Meta: fetch.Meta{ContentType: "message/rfc822", Size: m.Size, Header: h},
		Body: driver.Body{Reader: io.MultiReader(bytes.NewReader(head), body), Closer: body},
	}
	resp.ETag = h.Get("Message-Id")
	resp.ModTime, _ = mail.ParseDate(h.Get("Date"))
	return resp, nil
}

// part returns the response for a part of the message in resp. If there is no such part, it closes
// resp.
func part(resp *fetch.Response, contentID string) (*fetch.Response, error) {
	p, err := message.OpenContentID(resp.Body, contentID)
	if err != nil {
		resp.Body.Close()
		if errors.Is(err, message.ErrNoPart) {
			err = fetch.ErrNotFound.Errorf("part <%s> of the message", contentID)
		}
		return nil, err
	}
	meta := fetch.Meta{ContentType: p.ContentType, Size: -1, Header: p.Header, Validator: resp.Validator}
	if full := p.Header.Get("Content-Type"); strings.HasPrefix(strings.ToLower(full), p.ContentType) {
		meta.ContentType = full
	}
	meta.ETag = "" // it identifies the message
	return &fetch.Response{Meta: meta, Body: driver.Body{Reader: p.Body(), Closer: resp.Body}}, nil
}

func finish(req *fetch.Request, resp *fetch.Response) (*fetch.Response, error) {
	if etag := req.IfChanged.ETag; etag != "" && etag == resp.ETag && req.Range.IsZero() {
		resp.Body.Close()
		return nil, &fetch.Error{Code: fetch.ErrNotModified}
	}
	return driver.DropBody(req, resp), nil
}

func notFound(what string, boxes *mailbox.Boxes, cause error) *fetch.Error {
	e := &fetch.Error{Code: fetch.ErrNotFound}
	if len(boxes.Paths) == 0 {
		e.Err = fmt.Errorf("%s: no mailbox to search", what)
		e.Reason = fetch.Reason{Kind: fetch.ReasonMailbox}
		return e
	}
	e.Err = fmt.Errorf("%s is not in %s", what, strings.Join(boxes.Paths, ", "))
	if cause != mailbox.ErrNotFound {
		e.Err = fmt.Errorf("%w: %w", e.Err, cause)
	}
	return e
}
