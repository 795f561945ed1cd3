package links

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/urlget/urlget/fetch"
)

// A Lister lists the links of documents where a server has no listings. It can be used with
// [fetch.WalkOptions] and fetchfs.FS.
type Lister struct {
	Client *fetch.Client
	// Response, if not nil, is called with each response before its links are read. If it returns an
	// error, List returns that.
	Response func(*fetch.Response) error
}

// List returns the response to a request for a listing, with Entries. If there is no listing, these are
// the links of the document, as [Entries] returns them. For the URL of a directory of a scheme whose pages
// are HTML, it requests the page first, and a listing only if the page has no links, because few servers of
// pages have listings. In the index of a directory, which servers title "Index of" or "Directory listing
// for", the subdirectories are of kind fetch.EntryListing.
//
// List ignores req.Op. The first entry has been received, so that no error comes before it. The caller
// must close Response.Body.
func (l *Lister) List(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if l.Client.Traits(req.URL).HTML && req.URL.IsDirectory() {
		return l.page(ctx, req)
	}
	resp, err := l.listing(ctx, req)
	if !errors.Is(err, errors.ErrUnsupported) {
		return resp, err
	}
	noListing := err
	resp, _, err = l.document(ctx, req)
	switch code := fetch.CodeOf(err); {
	case code == fetch.ErrInteractive, code == fetch.ErrNotRetrievable:
		return nil, noListing
	case err != nil:
		return nil, err
	case resp.Entries == nil:
		resp.Body.Close()
		return nil, isFile(noListing, resp)
	}
	return resp, nil
}

func (l *Lister) page(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	page, found, pageErr := l.document(ctx, req)
	switch {
	case found:
		return page, nil
	case pageErr != nil && !mayHaveListing(pageErr):
		return nil, pageErr
	}
	resp, err := l.listing(ctx, req)
	switch {
	case errors.Is(err, errors.ErrUnsupported) && pageErr != nil:
		return nil, pageErr
	case errors.Is(err, errors.ErrUnsupported) && page.Entries != nil:
		return page, nil
	}
	if pageErr == nil {
		page.Body.Close()
		if errors.Is(err, errors.ErrUnsupported) {
			err = isFile(err, page)
		}
	}
	return resp, err
}

// mayHaveListing reports whether a server that does not send a page may still list a directory.
func mayHaveListing(err error) bool {
	switch fetch.CodeOf(err) {
	case fetch.ErrRefused, fetch.ErrNotFound, fetch.ErrServer:
		_, transient := fetch.Transient(err)
		return !transient
	}
	return false
}

func (l *Lister) listing(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	resp, err := l.do(ctx, req, fetch.OpList)
	if err != nil {
		return nil, err
	}
	if resp.Entries == nil {
		resp.Body.Close()
		return nil, &fetch.Error{Op: "list", URL: resp.URL.Redacted(), Code: fetch.ErrNotRetrievable,
			Err: fmt.Errorf("%s, not a listing", resp.Kind)}
	}
	if _, err = begin(resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// document requests a document, with the links of its type as Entries. Found reports whether it has any.
func (l *Lister) document(ctx context.Context, req *fetch.Request) (_ *fetch.Response, found bool, _ error) {
	resp, err := l.do(ctx, req, fetch.OpGet)
	if err != nil {
		return nil, false, err
	}
	if resp.Entries == nil {
		contentType, body := Sniff(resp.Body, resp.ContentType, "")
		resp.Entries, _ = read(body, contentType, resp.URL, nil, true)
	}
	if found, err = begin(resp); err != nil {
		return nil, false, err
	}
	return resp, found, nil
}

func (l *Lister) do(ctx context.Context, req *fetch.Request, op fetch.Op) (*fetch.Response, error) {
	dup := *req
	dup.Op = op
	resp, err := l.Client.Do(ctx, &dup)
	if err == nil && l.Response != nil {
		if err = l.Response(resp); err != nil {
			resp.Body.Close()
			return nil, err
		}
	}
	return resp, err
}

// isFile returns the error for a listing of a document without links. It keeps the class and the
// hint of noListing.
func isFile(noListing error, resp *fetch.Response) error {
	e, ok := errors.AsType[*fetch.Error](noListing)
	if !ok {
		return noListing
	}
	dup := *e
	dup.Err = fmt.Errorf("it is a file, not a directory: %s", resp.URL.Redacted())
	return &dup
}

// begin reads the first entry of a listing, and closes the body if that fails.
func begin(resp *fetch.Response) (found bool, err error) {
	if resp.Entries == nil {
		return false, nil
	}
	next, stop := iter.Pull2(resp.Entries)
	first, err, ok := next()
	if err != nil {
		stop()
		resp.Body.Close()
		return false, err
	}
	resp.Entries = func(yield func(fetch.Entry, error) bool) {
		var err error
		for e := first; ok; e, err, ok = next() {
			if !yield(e, err) {
				return
			}
		}
	}
	resp.Body = fetch.OnClose(resp.Body, stop)
	return ok, nil
}
