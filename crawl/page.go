package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// A Page is a URL that is being visited.
type Page struct {
	URL  uri.URI // with the login of its seed if both are on the same server
	From uri.URI // the URL that led to it; zero for seeds
	// Rel, Kind, Size and ModTime are those of the link. Size is -1 if unknown.
	Rel     string
	Kind    fetch.EntryKind
	Size    int64
	ModTime time.Time
	Depth   int // number of links from the seed
	Seed    int // index in State.Seeds of the seed that led here
	// Save is false if the page is only read for its links.
	Save bool
	// Memo is the data that the last visit stored, in this crawl or an earlier one. Visit may
	// replace it.
	Memo []byte
	// Target is the URL that the page redirects to, after Redirect has returned ErrElsewhere.
	Target uri.URI
	// Reply is the server's reply to Read.
	Reply fetch.Reply
	// Result carries a value from Visit to Options.Ended.
	Result any

	pageState
}

// pageState holds the crawl's own data about a Page.
type pageState struct {
	crawl *crawl
	item  *item
}

func (c *crawl) page(it *item, memo []byte) *Page {
	p := &Page{From: it.from, Rel: it.rel, Kind: it.kind, Size: it.size, ModTime: it.modTime, Depth: it.depth, Seed: it.seed,
		Save: it.save, Memo: memo, pageState: pageState{crawl: c, item: it}}
	p.URL = it.url.WithLoginOf(p.seedURL())
	return p
}

// Key returns the uri.URI.Key of the page's URL.
func (p *Page) Key() string { return p.item.id() }

// Request returns a request for the page that reports redirects to Redirect.
func (p *Page) Request() *fetch.Request {
	return &fetch.Request{URL: p.URL, From: p.item.source(), Redirect: p.Redirect}
}

// link returns the link that led to the page.
func (p *Page) link() Link {
	it := p.item
	return Link{URL: it.url, From: it.from, Seed: p.seedURL(), Depth: it.depth, Rel: it.rel, Kind: it.kind}
}

func (p *Page) seedURL() uri.URI { return p.crawl.seed(p.item.seed) }

// SetKind sets Kind if the response is a listing. The kind of a seed is unknown until then. Links
// in a listing are trusted to exist.
func (p *Page) SetKind(kind fetch.Kind) {
	if kind == fetch.KindListing {
		p.Kind = fetch.EntryListing
	}
}

// AddLink reports a link of the page. The root menu of a server with menus is one page, whether its
// selector is empty or a slash. If AddLink returns an error, the state failed and the visit must
// end.
func (p *Page) AddLink(e fetch.Entry) error {
	c, listed := p.crawl, p.Kind == fetch.EntryListing && p.Rel != "sitemap"
	id := p.linkID(e)
	if !listed && c.State.seenLink(id) {
		return nil
	}
	l := Link{URL: c.withoutDefaultPort(e.URL).WithoutUserinfo().WithoutFragment(), From: p.URL, Seed: p.seedURL(), Depth: p.Depth + 1,
		Rel: e.Rel, Kind: e.Kind, Text: e.Name, Listed: listed, Traits: c.client.Traits(e.URL)}
	if l.Traits.Menus {
		l.URL = c.withoutDefaultPort(rootMenu(l.URL, l.Seed))
	}
	if e.Rel == "nofollow" {
		if !c.NoRobots {
			c.reportUnfollowed(l, NoFollow)
			return nil
		}
		e.Rel, l.Rel = "a", "a"
	}
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
		c.reportUnfollowed(l, why)
		return nil
	}
	it := &item{url: l.URL, from: p.URL.WithoutUserinfo(), seed: p.item.seed, depth: l.Depth, rel: e.Rel, kind: e.Kind, size: e.Size,
		modTime: e.ModTime, save: keep && e.Rel != "sitemap"}
	if skipped, err := c.skipUnchanged(it, l.Listed); skipped || err != nil {
		return err
	}
	form := ""
	if !l.Listed && c.MaxAlike >= 0 {
		form = Form(it.url)
	}
	var added int
	var err error
	if listed {
		added, err = c.State.add(it, c.Scope.Limit(), form, c.MaxAlike)
	} else {
		added, err = c.State.addLink(it, id, c.Scope.Limit(), form, c.MaxAlike)
	}
	switch added {
	case tooManyAlike:
		c.reportUnfollowed(l, TooManyAlike)
	case newlyQueued:
		c.reportWaiting()
	}
	return err
}

// rootMenu returns seed if both URLs are the root menu of a server, otherwise u. A root menu that is
// not the seed gets an empty selector.
func rootMenu(u, seed uri.URI) uri.URI {
	g, err := uri.ParseGopher(u)
	if err != nil || !isRootMenu(g) {
		return u
	}
	if s, err := uri.ParseGopher(seed); err == nil && isRootMenu(s) && u.SameSite(seed) && s.Plus == g.Plus {
		return seed.WithoutUserinfo()
	}
	g.Selector = ""
	root, err := g.URI()
	if err != nil {
		return u
	}
	return root
}

func isRootMenu(g uri.Gopher) bool {
	return g.Type == '1' && (g.Selector == "" || g.Selector == "/") && g.Search == "" && g.Form == nil
}

func (c *crawl) retrieves(u uri.URI) bool {
	s, _ := c.client.Scheme(u.Scheme())
	return s.Retrieves() && !s.Local || s.Local && s.Can(fetch.OpGet)
}

// ErrElsewhere is returned by Page.Redirect if the page redirects to another URL. The visit must
// then end, and Visit may return the error.
var ErrElsewhere = errors.New("crawl: the page redirects to another URL")

// Redirect reports that the page redirects to another URL. Unless that is the same page over TLS,
// it returns ErrElsewhere, and the target becomes a page of the crawl if it is in scope. A page
// that was redirected to this one is visited again, because servers redirect that way to set a
// cookie. If the page is a seed, depth and scope are relative to the target from then on.
func (p *Page) Redirect(to uri.URI) error {
	c := p.crawl
	to = c.withoutDefaultPort(to).WithoutFragment()
	if to == p.URL || to.Key() == p.Key() {
		return nil
	}
	if n := c.MaxRedirects; n >= 0 && len(p.item.via) >= n {
		return &fetch.Error{Code: fetch.ErrRedirect, Err: fmt.Errorf("more than %d redirects", n)}
	}
	p.Target = to.WithoutUserinfo()
	isSeed := p.Depth == 0 && p.Rel == ""
	if isSeed {
		c.mu.Lock()
		c.seeds[p.item.seed] = to
		c.mu.Unlock()
		c.State.moveSeed(p.item.seed, to.WithoutUserinfo().String())
	}
	l := Link{URL: to.WithoutUserinfo(), From: p.URL, Seed: p.seedURL(), Depth: p.Depth, Rel: p.Rel, Kind: p.Kind, Traits: c.client.Traits(to)}
	keep, why := c.Scope.Follow(l)
	if why == Followed && !c.retrieves(l.URL) {
		why = OtherScheme
	}
	if why != Followed {
		c.reportUnfollowed(l, why)
		return ErrElsewhere
	}
	it := *p.item
	it.url, it.key, it.queueKey, it.save = l.URL, "", nil, keep && (p.Save || isSeed)
	it.via = append(slices.Clone(p.item.via), p.URL.WithoutUserinfo())
	added, err := c.State.addRedirect(&it, c.Scope.Limit())
	if err != nil {
		return err
	}
	if added == newlyQueued {
		c.reportWaiting()
	}
	return ErrElsewhere
}

// AttemptFailed reports a failed attempt that will be retried. If the server is busy, the scheduler
// pauses it.
func (p *Page) AttemptFailed(err error) { p.crawl.scheduler.Failed(p.URL.Host(), err) }

// Read reads the links of the page without saving it. It is the default of Options.Visit.
func (p *Page) Read(ctx context.Context) error {
	req := p.Request()
	if s, _ := p.crawl.client.Scheme(p.URL.Scheme()); p.Kind == fetch.EntryListing && s.Can(fetch.OpList) && p.Rel != "sitemap" {
		req.Op = fetch.OpList
	}
	resp, err := p.crawl.client.Do(ctx, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	p.Reply = resp.Reply
	if err := p.Redirect(resp.URL); err != nil {
		return err
	}
	p.SetKind(resp.Kind)
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
		if err := p.AddLink(e); err != nil {
			return err
		}
	}
	return nil
}
