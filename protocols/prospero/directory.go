package prospero

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urlget/urlget/fetch"
)

// list opens a directory. Version 1 is tried if the server wants that.
func (d *driver) list(ctx context.Context, o object) (*fetch.Response, error) {
	a, err := d.ask(ctx, o, o.list())
	if err != nil {
		return nil, err
	}
	resp, err := a.listing(o)
	if errors.Is(err, errOldVersion) {
		a.Close()
		if a, err = d.ask(ctx, o, o.listVersion1()); err != nil {
			return nil, err
		}
		a.NoQuote = true
		resp, err = a.listing(o)
	}
	if err != nil || len(resp.Location) > 0 {
		a.Close()
	}
	return resp, err
}

// listing reads up to the first link, which tells what the answer is, and
// leaves it unread.
func (a *answer) listing(o object) (*fetch.Response, error) {
	resp, err := a.seek("LINK")
	switch {
	case resp != nil:
		return resp, nil
	case err != nil && err != io.EOF && !errors.Is(err, errNoneFound):
		return nil, err
	}
	return a.directory(o), nil // which may have no links
}

func (a *answer) directory(o object) *fetch.Response {
	resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, ContentType: "text/x-prospero-links", Size: -1},
		Body: struct {
			io.Reader
			io.Closer
		}{a.Reader(), a}}
	resp.Entries = func(yield func(fetch.Entry, error) bool) {
		for e, err := range entries(a.Scanner) {
			if err == nil && !o.selects(e) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
	return resp
}

// selects applies the fields of the URL: they name attributes of links.
func (o object) selects(e fetch.Entry) bool {
	link, ok := e.Sys.(Link)
	for _, f := range o.fields {
		if !ok || f.Value != "" && link.attribute(f.Name) != f.Value {
			return false
		}
	}
	return true
}

// whyNoDirectory tells what is not there from what is no directory: servers
// say the same of both.
func (d *driver) whyNoDirectory(ctx context.Context, o object) error {
	if _, _, err := d.attributes(ctx, o); err != nil {
		return err
	}
	return &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("not a directory: %w", errors.ErrUnsupported)}
}
