package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/pace"
	"github.com/urlget/urlget/protocols/internal/remotefile"
	"github.com/urlget/urlget/protocols/internal/sigv4"
)

// Sys is the additional information about an object in a listing.
type Sys struct {
	ETag         string `fact:"etag,optional"`
	StorageClass string `fact:"storage_class,optional"`
}

// EntryFacts implements [fetch.EntryRecord].
func (s Sys) EntryFacts() fetch.Facts { return driver.FactsOf("s3", "", s) }

// listQuery returns the parameters of ListObjectsV2, in canonical order.
func listQuery(prefix, token string) string {
	query := fmt.Sprintf("delimiter=%%2F&encoding-type=url&list-type=2&max-keys=%d&prefix=%s", maxKeys,
		sigv4.Escape(prefix, ""))
	if token != "" {
		query = "continuation-token=" + sigv4.Escape(token, "") + "&" + query
	}
	return query
}

// list returns the listing of the keys that begin with a prefix.
func (x *exchange) list(ctx context.Context) (*fetch.Response, error) {
	base, err := parseURL(x.base)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l := &listing{exchange: x, prefix: x.prefix()}
	if err := l.next(ctx); err != nil {
		cancel(nil)
		return nil, err
	}
	if len(l.page.members) == 0 && !l.page.truncated && l.prefix != "" {
		cancel(nil)
		return nil, fetch.ErrNotFound.Errorf("no key begins with %q", fetch.Printable(l.prefix))
	}
	resp, read := remotefile.Listing(x.req, base, x.name(), time.Time{})
	if !read {
		cancel(nil)
		return resp, nil
	}
	parts := func(yield func(driver.Part, error) bool) {
		defer cancel(nil)
		l.parts(ctx, yield)
	}
	driver.SetParts(resp, parts, func() error { cancel(errClosed); return nil })
	return resp, nil
}

var errClosed = errors.New("the listing was closed")

type listing struct {
	*exchange
	prefix string
	page   *page
	cycle  remotefile.Cycle[string]
}

func (l *listing) parts(ctx context.Context, yield func(driver.Part, error) bool) {
	for {
		for _, m := range l.page.members {
			name := strings.TrimPrefix(m.key, l.prefix)
			if name == "" {
				continue // the object that stands for the directory itself
			}
			if !yield(l.part(name, m), nil) {
				return
			}
		}
		if !l.page.truncated {
			return
		}
		if err := l.next(ctx); err != nil {
			if code, _ := fetch.Classify(err); code == fetch.ErrNetwork {
				err = remotefile.TruncatedListing(err)
			}
			yield(driver.Part{}, err)
			return
		}
	}
}

// next reads the next page.
func (l *listing) next(ctx context.Context) error {
	token := ""
	if l.page != nil {
		token = l.page.token
	}
	resp, err := l.send(ctx, fetch.OpGet, "", listQuery(l.prefix, token))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	content := &content{r: pace.NewReader(resp.Body, l.env.Timeouts().Idle)}
	p, err := readPage(content)
	switch {
	case content.err != nil:
		return content.err
	case err != nil:
		return fetch.ErrProtocol.Errorf("the listing is invalid: %w", err)
	case p.truncated && p.token == "":
		return fetch.ErrProtocol.Errorf("the listing is not complete and has no token to continue")
	case p.truncated && l.cycle.Closes(p.token):
		return fetch.ErrProtocol.Errorf("the listing repeats a token")
	}
	for _, m := range p.members {
		if !strings.HasPrefix(m.key, l.prefix) {
			return fetch.ErrProtocol.Errorf(
				"the listing has the key %.100q, which does not begin with %.100q", m.key, l.prefix)
		}
	}
	l.page = p
	return nil
}

// A content is a page, which is useless until it is complete. It keeps the error of the server, as opposed
// to those of a document.
type content struct {
	r   io.Reader
	err error // except io.EOF
}

func (c *content) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// part returns the part for a key or a prefix, whose name is relative to the prefix of the listing.
func (l *listing) part(name string, m member) driver.Part {
	short, slash := strings.CutSuffix(name, "/")
	switch {
	case short == ".", short == "..":
		text := fetch.Printable(m.key) + ": a URL cannot have this name"
		return driver.URIListPart(text,
			fetch.Entry{Kind: fetch.EntryError, Rel: "item", Name: text, Size: -1})
	case m.prefix && slash:
		return driver.URIListPart("", remotefile.Directory(remotefile.Member(l.base, short, true),
			cmp.Or(short, "/"), time.Time{}, nil))
	}
	return driver.URIListPart("", remotefile.File(remotefile.Member(l.base, name, false), name, m.size,
		m.modTime, Sys{ETag: m.etag, StorageClass: m.class}))
}
