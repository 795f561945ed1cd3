package prospero

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	codec "github.com/urlget/urlget/internal/codec/prospero"
	"github.com/urlget/urlget/internal/pace"
)

// list opens a directory, with version 1 of the protocol if the server requires that.
func (d *opener) list(ctx context.Context, o object) (*fetch.Response, error) {
	a, err := d.ask(ctx, o, o.list())
	if err != nil {
		return nil, err
	}
	resp, err := d.listing(ctx, a, o)
	if errors.Is(err, errOldVersion) {
		a.Close()
		if a, err = d.ask(ctx, o, o.listVersion1()); err != nil {
			return nil, err
		}
		a.NoQuote = true
		resp, err = d.listing(ctx, a, o)
	}
	if err != nil || len(resp.Location) > 0 {
		a.Close()
	}
	return resp, err
}

// listing reads up to the first link and returns the response. It leaves the link unread.
func (d *opener) listing(ctx context.Context, a *response, o object) (*fetch.Response, error) {
	resp, err := a.seek("LINK")
	switch {
	case resp != nil:
		return resp, nil
	case err != nil && err != io.EOF && !errors.Is(err, errNoneFound):
		return nil, err
	}
	a.done()
	return d.directory(ctx, a, o), nil // may have no links
}

func (d *opener) directory(ctx context.Context, a *response, o object) *fetch.Response {
	resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing,
		ContentType: "text/x-prospero-links", Size: -1},
		Body: driver.Body{Reader: pace.Lines(a.Reader(), d.env.Timeouts().Idle), Closer: a}}
	resp.Parse = func(r io.Reader) iter.Seq2[fetch.Entry, error] {
		lines := codec.NewScanner(r)
		lines.NoQuote = a.NoQuote
		return func(yield func(fetch.Entry, error) bool) {
			for e, err := range d.members(ctx, entries(lines)) {
				if err == nil && !o.selects(e) {
					continue
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}
	return resp
}

// members replaces each union link with the members of the directory that it names, because these
// belong to the directory that contains the link. If that directory cannot be listed, the link
// remains, and an entry of kind EntryError shows that members are missing. The redirect limit bounds
// nested unions.
func (d *opener) members(ctx context.Context,
	links iter.Seq2[fetch.Entry, error]) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for e, err := range links {
			link, ok := e.Sys.(Link)
			if err != nil || !ok || !link.Union || e.URL.Scheme() != "prospero" {
				if !yield(e, err) {
					return
				}
				continue
			}
			resp, err := d.env.Open(ctx, &fetch.Request{URL: e.URL, Op: fetch.OpList})
			if err != nil || resp.Entries == nil {
				d.env.Logger().Warn("a part of the directory cannot be listed", "part",
					e.URL.Redacted(), "error", err)
				if resp != nil {
					resp.Body.Close()
				}
				// The listing lacks the members of the part.
				notice := fetch.Entry{Kind: fetch.EntryError, Size: -1,
					Name: "a part of the directory cannot be listed: " + link.Name}
				if !yield(e, nil) || !yield(notice, nil) {
					return
				}
				continue
			}
			for member, err := range resp.Entries {
				if !yield(member, err) || err != nil {
					resp.Body.Close()
					return
				}
			}
			resp.Body.Close()
		}
	}
}

// selects applies the fields of the URL, which name attributes of links.
func (o object) selects(e fetch.Entry) bool {
	link, ok := e.Sys.(Link)
	for _, f := range o.fields {
		if !ok || f.Value != "" && link.attribute(f.Name) != f.Value {
			return false
		}
	}
	return true
}

// Servers send the same response for a missing object and for one that is not a directory.
func (d *opener) notDirectoryError(ctx context.Context, o object) error {
	if _, _, err := d.attributes(ctx, o); err != nil {
		return err
	}
	return fetch.ErrNotRetrievable.Errorf("not a directory: %w", errors.ErrUnsupported)
}
