package crawl

import (
	"context"
	"errors"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// A Page is a URL that is being visited.
type Page struct {
	URL  uri.URI // with the login of its seed, where that is at the same server
	From uri.URI // what led to it; zero for seeds
	// Rel and Kind are how that listed it, and Size, or -1, and ModTime what it told.
	Rel     string
	Kind    fetch.EntryKind
	Size    int64
	ModTime time.Time
	Depth   int // links from the seed
	// Save is false if only the links are wanted.
	Save bool
	// Memo is what an earlier visit left, in this crawl or an earlier one. What Visit puts here is
	// kept for the next one.
	Memo []byte
	// Trail is kept as the Memo of the URL that redirected, if the page has moved (see Move).
	Trail []byte
	// Reply is what the server said to Read.
	Reply fetch.Reply
	// Result is for Visit to leave something for Options.Ended.
	Result any

	crawl *crawl
	item  *item
	moved *item  // what is visited instead, after a redirect
	why   Reason // set if it was not visited
}

func (c *crawl) page(it *item, memo []byte) *Page {
	p := &Page{From: it.from, Rel: it.rel, Kind: it.kind, Size: it.size, ModTime: it.modTime, Depth: it.depth,
		Save: it.save, Memo: memo, crawl: c, item: it}
	p.URL = p.withLogin(it.url)
	return p
}

// Key returns the uri.URI.Key of the page's URL.
func (p *Page) Key() string {
	if p.moved != nil {
		return p.moved.id()
	}
	return p.item.id()
}

func (p *Page) seedURL() uri.URI { return p.crawl.seed(p.item.seed) }

// withLogin returns u with the login of the seed, if it is at the same server.
func (p *Page) withLogin(u uri.URI) uri.URI {
	if seed := p.seedURL(); seed.SameSite(u) {
		return u.WithUserinfoOf(seed)
	}
	return u
}

// Answered tells what kind the answer is of. Seeds are not known to be listings before, and what a
// listing leads to is there.
func (p *Page) Answered(kind fetch.Kind) {
	if kind == fetch.KindListing {
		p.Kind = fetch.EntryListing
	}
}

// Found tells of a link of the page. The error is that of the state, which ends the visit.
func (p *Page) Found(e fetch.Entry) error {
	c := p.crawl
	l := Link{URL: c.plain(e.URL).WithoutUserinfo().WithoutFragment(), From: p.URL, Seed: p.seedURL(), Depth: p.Depth + 1,
		Rel: e.Rel, Kind: e.Kind, Listed: p.Kind == fetch.EntryListing && p.Rel != "sitemap", Traits: c.client.Traits(e.URL)}
	if c.Scope.Requisites && links.Requisite(e.Rel) {
		l.Depth = p.Depth
	}
	keep, why := true, Followed
	if e.Rel != "sitemap" {
		if keep, why = c.Scope.Follow(l); why == Followed && !c.retrieves(l.URL) {
			why = OtherScheme
		}
	}
	if why != Followed {
		c.left(l, why)
		return nil
	}
	it := &item{url: l.URL, from: p.URL.WithoutUserinfo(), seed: p.item.seed, depth: l.Depth, rel: e.Rel, kind: e.Kind, size: e.Size,
		modTime: e.ModTime, save: keep && e.Rel != "sitemap"}
	if spared, err := c.spare(it, l.Listed); spared || err != nil {
		return err
	}
	form := ""
	if !l.Listed && c.MaxAlike >= 0 {
		form = Form(it.url)
	}
	added, err := c.State.add(it, c.Scope.Limit(), form, c.MaxAlike)
	switch added {
	case alike:
		c.left(l, TooManyAlike)
	case fresh:
		c.counted()
	}
	return err
}

func (c *crawl) retrieves(u uri.URI) bool {
	s, _ := c.client.Scheme(u.Scheme())
	return s.State() == driver.StateRetrieves && !s.Local || s.Local && s.Can(fetch.OpGet)
}

// ErrElsewhere is what Page.Move returns if what a page redirects to is not to be visited in its
// place: because it was met before, or is out of scope. The visit should end without an error.
var ErrElsewhere = errors.New("crawl: redirect target already seen or out of scope")

// Move tells that the page redirects to another URL. If it returns nil, that is visited now, in
// place of the page. If the page is a seed, the seed has moved: what is below it counts from there.
func (p *Page) Move(to uri.URI) error {
	c := p.crawl
	to = c.plain(to).WithoutFragment()
	if to.Key() == p.Key() {
		return nil
	}
	if p.Depth == 0 && p.Rel == "" {
		c.mu.Lock()
		c.seeds[p.item.seed] = to
		c.mu.Unlock()
		c.State.moveSeed(p.item.seed, to.WithoutUserinfo().String())
	}
	l := Link{URL: to.WithoutUserinfo(), From: p.URL, Seed: p.seedURL(), Depth: p.Depth, Rel: p.Rel, Kind: p.Kind, Traits: c.client.Traits(to)}
	keep, why := c.Scope.Follow(l)
	if why != Followed {
		c.left(l, why)
		return ErrElsewhere
	}
	it := *p.item
	it.url, it.key, it.save = l.URL, "", keep && (p.Save || p.Depth == 0 && p.Rel == "")
	mine, err := c.State.claim(&it)
	if err != nil {
		return err
	}
	if !mine {
		return ErrElsewhere
	}
	p.moved, p.URL, p.Save = &it, to, it.save
	p.Memo, _ = c.State.Memo(to)
	return nil
}

// Busy tells that a try to visit the page failed and another follows, so that the server is left
// alone for a while.
func (p *Page) Busy(err error) { p.crawl.scheduler.Failed(p.URL.Host(), err) }

// Read visits the page for its links alone: it is the visit if no other is given.
func (p *Page) Read(ctx context.Context) error {
	req := &fetch.Request{URL: p.URL, From: p.From}
	if s, _ := p.crawl.client.Scheme(p.URL.Scheme()); p.Kind == fetch.EntryListing && s.Can(fetch.OpList) && p.Rel != "sitemap" {
		req.Op = fetch.OpList
	}
	resp, err := p.crawl.client.Do(ctx, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	p.Reply = resp.Reply
	if err := p.Move(resp.URL); err != nil {
		if err == ErrElsewhere {
			return nil
		}
		return err
	}
	p.Answered(resp.Kind)
	entries, ok := links.Entries(resp)
	if p.Rel == "sitemap" {
		entries, ok = links.XML(resp.Body, resp.URL), true
	}
	if !ok {
		return nil
	}
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := p.Found(e); err != nil {
			return err
		}
	}
	return nil
}
