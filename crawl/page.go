package crawl

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// A Page is a URL that is being visited. Its URL has the login of its seed if both are on the same
// server.
type Page struct {
	Link
	// Memo is the data that the last visit stored, in this crawl or an earlier one. Visit may
	// replace it.
	Memo []byte
	// Target is the URL that the page redirects to, perhaps with a fragment, after Redirect has returned
	// ErrElsewhere.
	Target uri.URI
	// Delay is the Crawl-delay of the server.
	Delay time.Duration
	// Reply is the server's reply to Read.
	Reply fetch.Reply
	// Unread is the content type of the page if Read found no links because of it.
	Unread string
	// Anchors, if not nil, are set by Read. Fragment, if not nil, is called for each link with a fragment
	// that Read finds; to has none.
	Anchors  *links.Anchors
	Fragment func(to uri.URI, fragment string)
	// Result carries a value from Visit to Options.Ended.
	Result any

	visitor *Visitor
	item    *item // nil if the page is not of a State
}

// Key returns the uri.URI.Key of the page's URL.
func (p *Page) Key() string { return p.URL.Key() }

// SeedIndex returns the index in State.Seeds of the seed that led to the page.
func (p *Page) SeedIndex() int { return p.seed }

// isSeed reports whether the user entered the URL of the page, or one that redirects to it.
func (p *Page) isSeed() bool { return p.Depth == 0 && p.Rel == "" }

// isListing reports whether the links of the page are members of a directory or items of a menu.
func (p *Page) isListing() bool { return p.Kind == fetch.EntryListing && p.Rel != "sitemap" }

// canList reports whether the page is a listing that can be requested without a document.
func (p *Page) canList() bool {
	s, _ := p.visitor.Client.Scheme(p.URL.Scheme())
	return p.isListing() && s.Can(fetch.OpList)
}

// IsDirectory reports whether the page is to be listed, and not retrieved. Menus are documents.
func (p *Page) IsDirectory() bool {
	return p.canList() && !p.visitor.Client.Traits(p.URL).Menus
}

// Request returns a request for the page that reports redirects to Redirect.
func (p *Page) Request(ctx context.Context) *fetch.Request {
	return &fetch.Request{URL: p.URL, From: p.Source(),
		Redirect: func(to uri.URI) error { return p.Redirect(ctx, to) }}
}

// plainLink returns the link to the page without the login of its seed.
func (p *Page) plainLink() Link {
	l := p.Link
	l.URL = l.URL.WithoutUserinfo()
	return l
}

// Receive processes the header of a response, and adds its links. It sets Kind, because that of a seed is
// unknown until then. Links in a listing are trusted to exist. A directory is the page, whatever its URL
// is. Anything else may be the target of a redirect (see Redirect).
func (p *Page) Receive(ctx context.Context, resp *fetch.Response) error {
	if resp.Kind == fetch.KindListing {
		p.Kind = fetch.EntryListing
		if resp.Entries != nil && !p.visitor.Client.Traits(resp.URL).Menus {
			return nil
		}
	}
	if err := p.Redirect(ctx, resp.URL); err != nil {
		return err
	}
	for e := range links.Fields(resp) {
		if err := p.AddLink(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// AddLink decides about a link of the page and, if it is followed, adds it to the frontier. If
// AddLink returns an error, the frontier failed and the visit must end.
func (p *Page) AddLink(ctx context.Context, e fetch.Entry) error {
	v, id := p.visitor, p.linkID(e)
	if !p.isListing() && v.seen.has(id) {
		return nil
	}
	l, why := v.link(p, e)
	why, err := v.add(ctx, &l, why)
	if err == nil && why == Followed && !l.Listed {
		v.seen.add(id)
	}
	return err
}

// AddLinks calls AddLink for all entries.
func (p *Page) AddLinks(ctx context.Context, entries iter.Seq2[fetch.Entry, error]) error {
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := p.AddLink(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// ErrElsewhere is returned by Page.Redirect if the page redirects to another URL. The visit must
// then end, and Visit may return the error.
var ErrElsewhere = errors.New("crawl: the page redirects to another URL")

// Redirect reports that the page redirects to another URL. Unless that is the same page over TLS,
// it returns ErrElsewhere, and the target becomes a page of the crawl if it is in scope. A page
// that was redirected to this one is visited again, because servers redirect that way to set a
// cookie. If the page is a seed, depth and scope are relative to the target from then on.
func (p *Page) Redirect(ctx context.Context, to uri.URI) error {
	v := p.visitor
	fragment, hasFragment := to.Fragment()
	to = v.withoutDefaultPort(to).WithoutFragment()
	if to == p.URL || to.Key() == p.Key() {
		return nil
	}
	if n := v.MaxRedirects; n >= 0 && len(p.Via) >= n {
		return fetch.ErrRedirect.Errorf("more than %d redirects", n)
	}
	if p.isSeed() {
		seed, err := v.Frontier.MoveSeed(ctx, p, to)
		if err != nil {
			return err
		}
		p.Seed = seed
		v.seen.clear() // scope and depth are relative to the seed
	}
	l, why := v.target(p, to)
	if why != Followed {
		v.left(l, why)
	} else if follow, err := v.Frontier.AddTarget(ctx, &l); follow || err != nil {
		return err
	}
	p.Target = l.URL
	if ref, err := uri.ParseRef("#" + fragment); hasFragment && err == nil {
		p.Target = p.Target.Resolve(ref)
	}
	return ErrElsewhere
}

// AttemptFailed reports a failed attempt that will be retried. If the server is busy, the scheduler
// of Run pauses it.
func (p *Page) AttemptFailed(err error) { p.visitor.attemptFailed(p.URL.Host(), err) }

// Read reads the links of the page without saving it. It is the default of Options.Visit.
func (p *Page) Read(ctx context.Context) error {
	req := p.Request(ctx)
	if p.canList() {
		req.Op = fetch.OpList
	}
	resp, err := p.visitor.Client.Do(ctx, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	p.Reply = resp.Reply
	if err := p.Receive(ctx, resp); err != nil {
		return err
	}
	entries, ok := links.EntriesAndAnchors(resp, p.Rel, p.Anchors)
	if p.Rel == "sitemap" {
		entries, ok = links.Sitemap(resp.Body, resp.URL), true
	}
	if !ok {
		p.Unread = cmp.Or(resp.ContentType, UnknownType)
		return nil
	}
	return p.AddLinks(ctx, p.withFragments(entries))
}

// withFragments calls Fragment for the entries.
func (p *Page) withFragments(entries iter.Seq2[fetch.Entry, error]) iter.Seq2[fetch.Entry, error] {
	if p.Fragment == nil {
		return entries
	}
	return func(yield func(fetch.Entry, error) bool) {
		for e, err := range entries {
			if fragment, ok := e.URL.Fragment(); ok && err == nil && e.Kind != fetch.EntryError {
				p.Fragment(p.visitor.plain(e.URL), fragment)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// UnknownType stands for the content type of a page without one that does not begin as HTML.
const UnknownType = "unknown"
