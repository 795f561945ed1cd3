package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// A crawlState is the state of a worker for the crawl of its queue.
type crawlState struct {
	engine  Engine
	client  *fetch.Client
	cookies func(file []byte) error // Worker.Cookies

	loading  mutex      // held while the crawl is loaded
	mu       sync.Mutex // guards the fields below
	crawl    *Crawl
	loaded   time.Time // time when crawl was loaded
	robots   *crawl.Robots
	frontier map[Priority]*frontier
}

const (
	crawlCacheTime = 2 * time.Second // how long a loaded Crawl is used
	linksAtOnce    = 16              // concurrent engine requests for links
)

func newCrawlState(w *Worker) *crawlState {
	return &crawlState{engine: w.Engine, client: w.Runner.Downloader.Client, cookies: w.Cookies, loading: newMutex(), frontier: map[Priority]*frontier{}}
}

// load returns the crawl, at most crawlCacheTime old, with secrets of at least that revision.
func (c *crawlState) load(ctx context.Context, secrets uint64) (*Crawl, error) {
	fresh := func() *Crawl {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.crawl != nil && c.crawl.secrets.revision >= secrets && time.Since(c.loaded) < crawlCacheTime {
			return c.crawl
		}
		return nil
	}
	if cached := fresh(); cached != nil {
		return cached, nil
	}
	if err := c.loading.lock(ctx); err != nil {
		return nil, err
	}
	defer c.loading.unlock()
	if cached := fresh(); cached != nil {
		return cached, nil
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	now, err := loadWithSecrets(ctx, c.engine)
	if err != nil {
		return nil, err
	}
	if err := c.passCookies(now); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crawl == nil || c.crawl.Token != now.Token { // a new crawl of the same name
		c.robots = crawl.NewRobots(c.client, now.agent())
		shared := &sharedRules{c.engine, now.agent()}
		c.robots.Share = shared.rules
		clear(c.frontier)
	}
	c.crawl, c.loaded = now, time.Now()
	return now, nil
}

// passCookies passes the cookies of the crawl to the client if they are new. The caller holds
// loading.
func (c *crawlState) passCookies(now *Crawl) error {
	c.mu.Lock()
	former := c.crawl
	c.mu.Unlock()
	if c.cookies == nil || former != nil && former.Token == now.Token && bytes.Equal(former.secrets.Cookies, now.secrets.Cookies) {
		return nil
	}
	if err := c.cookies(now.secrets.Cookies); err != nil {
		return fmt.Errorf("the cookies of the crawl: %w", err)
	}
	return nil
}

func (c *crawlState) rules() *crawl.Robots {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.robots
}

// frontierFor returns the frontier for pages of a priority.
func (c *crawlState) frontierFor(p Priority) *frontier {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.frontier[p]
	if f == nil {
		f = newFrontier(c.engine, p)
		c.frontier[p] = f
	}
	return f
}

// A visit is a page that a worker processes.
type visit struct {
	*task
	crawl    *Crawl
	frontier *frontier
	id       string
	depth    int
	// skipped is the reason why nothing is saved, or "".
	skipped string
	resp    *fetch.Response // the latest response
	delay   time.Duration   // crawl delay of the server
}

// Reasons in the results of skipped pages.
const (
	skippedRobots  = "robots"     // robots.txt disallows the page
	skippedMoved   = "moved"      // the page redirects to another page
	skippedType    = "not_wanted" // the media type is not accepted
	skippedGuessed = "not_found"  // a guessed URL does not exist
)

// prepare prepares the visit. It returns false if the page has been visited and has a result.
func (v *visit) prepare(ctx context.Context) (bool, error) {
	var err error
	page := v.sub.Page
	if v.crawl, err = v.crawlState.load(ctx, page.Secrets); err != nil {
		return false, err
	}
	if page.Seed.Userinfo().HasName { // of a former version
		if _, stored := v.crawl.secrets.Logins[page.Seed.Site()]; stored {
			page.Seed = page.Seed.WithoutUserinfo() // jobs for the links do not need it
		}
	}
	v.frontier, v.id = v.crawlState.frontierFor(v.delivery.Priority()), v.crawl.pageID(v.sub.Job.URL)
	depth, followed, err := v.frontier.visit(ctx, v.sub, v.id)
	if err != nil {
		return false, err
	}
	v.depth = depth
	if !followed {
		return true, nil
	}
	finished, err := v.Engine.HasResult(ctx, v.sub.ID)
	return !finished, err
}

// checkRobots checks robots.txt. If it returns a result, the page is not visited.
func (v *visit) checkRobots(ctx context.Context) (*job.Result, error) {
	page, u := v.sub.Page, v.sub.Job.URL
	sitemaps := v.crawl.Sitemaps && v.depth == 0 && page.Rel == ""
	if v.crawl.NoRobots && !sitemaps {
		return nil, nil
	}
	rules, err := v.crawlState.rules().Rules(ctx, u, v.sub.Job.From)
	var engine *engineError
	switch {
	case errors.As(err, &engine):
		return nil, err
	case err == nil && !v.crawl.NoRobots:
		v.delay = rules.Delay
	}
	if sitemaps && err == nil {
		if err := v.addSitemaps(ctx, rules.Sitemaps); err != nil {
			return nil, &engineError{err}
		}
	}
	if v.crawl.NoRobots || v.depth == 0 {
		return nil, nil
	}
	if err != nil {
		return v.failed(err), nil
	}
	if !v.crawlState.rules().Allowed(rules, u) {
		return v.skip(skippedRobots), nil
	}
	return nil, nil
}

// skip returns the result of a skipped page.
func (v *visit) skip(why string) *job.Result {
	v.skipped = why
	return &job.Result{URL: v.sub.Job.URL.Redacted(), Outcome: job.Skipped, Started: time.Now(), Size: -1}
}

// login returns u with the login for the seed's site if u is on that site.
func (v *visit) login(u uri.URI) uri.URI {
	seed := v.sub.Page.Seed // has a login in jobs of former versions
	if stored, ok := v.crawl.secrets.Logins[seed.Site()]; ok {
		seed = stored
	}
	return u.WithLoginOf(seed)
}

// job returns the job that retrieves the page.
func (v *visit) job() job.Job {
	j := *v.sub.Job
	j.URL, j.Depth = v.login(j.URL), v.depth
	s, _ := v.crawlState.client.Scheme(j.URL.Scheme())
	if v.sub.Page.Kind == fetch.EntryListing && s.Can(fetch.OpList) && v.sub.Page.Rel != "sitemap" {
		j.Op = fetch.OpList
	}
	if s.Menus {
		j.Output = "-" // menus are documents
	}
	return j
}

// response checks the response before its body is read. An error ends the transfer.
func (v *visit) response(ctx context.Context, resp *fetch.Response) error {
	v.resp = resp
	if resp.URL.Key() != v.sub.Job.URL.Key() && !v.sub.Page.Moved {
		v.skipped = skippedMoved
		if err := v.move(ctx, resp.URL); err != nil {
			return &engineError{err}
		}
		return job.ErrTaken
	}
	if v.keeps(resp) || resp.Entries != nil || v.sub.Page.Rel == "sitemap" {
		return nil
	}
	if _, linked := links.Read(resp.Body, resp.ContentType, resp.URL); !linked {
		v.skipped = skippedType
		return job.ErrTaken
	}
	return nil
}

func (v *visit) keeps(resp *fetch.Response) bool {
	return !v.sub.Page.Read && v.crawl.Scope.KeepsType(resp.ContentType)
}

// move queues the redirect target. If this page is a seed, the target becomes the seed, and its
// scope applies.
func (v *visit) move(ctx context.Context, to uri.URI) error {
	to = v.plain(to).WithoutFragment()
	page := *v.sub.Page
	page.Moved = true
	if v.depth == 0 && page.Rel == "" {
		page.Seed = to.WithoutUserinfo().WithUserinfoOf(page.Seed) // the client has added the login to the target
		if to.Site() != v.sub.Page.Seed.Site() {
			page.Seed = to
		}
	}
	l := crawl.Link{URL: to.WithoutUserinfo(), From: v.sub.Job.URL, Seed: page.Seed, Depth: v.depth, Rel: page.Rel, Kind: page.Kind,
		Traits: v.crawlState.client.Traits(to)}
	keep, why := v.crawl.Scope.Follow(l)
	if why != crawl.Followed {
		v.Metrics.countUnfollowed(string(why))
		return nil
	}
	page.Read = !keep || page.Read && !(v.depth == 0 && page.Rel == "")
	return v.addPage(ctx, l, &page)
}

func (v *visit) plain(u uri.URI) uri.URI {
	s, _ := v.crawlState.client.Scheme(u.Scheme())
	return u.WithoutPort(s.Port)
}

// addPage adds a page to the frontier.
func (v *visit) addPage(ctx context.Context, l crawl.Link, page *page) error {
	page.Secrets = v.crawl.secrets.revision
	sub := v.crawl.submission(&job.Job{URL: l.URL, From: l.From.WithoutUserinfo(), Depth: l.Depth}, page)
	var why crawl.Reason
	_, err := v.frontier.add(ctx, v.crawl, sub, v.frontier.payer(ctx, v.crawl, sub, l.Listed, &why))
	if err == nil && why != "" {
		v.Metrics.countUnfollowed(string(why))
	}
	if fetch.CodeOf(err) == fetch.ErrRequest || fetch.CodeOf(err) == fetch.ErrURL {
		v.Metrics.countUnfollowed(string(crawl.NoTarget)) // workers would refuse the job
		return nil
	}
	return err
}

// addLink processes a link of the page.
func (v *visit) addLink(ctx context.Context, e fetch.Entry) error {
	l := crawl.Link{URL: v.plain(e.URL).WithoutUserinfo().WithoutFragment(), From: v.sub.Job.URL, Seed: v.sub.Page.Seed, Depth: v.depth + 1,
		Rel: e.Rel, Kind: e.Kind, Listed: v.sub.Page.Kind == fetch.EntryListing && v.sub.Page.Rel != "sitemap",
		Traits: v.crawlState.client.Traits(e.URL)}
	if e.Rel == "nofollow" {
		if !v.crawl.NoRobots {
			v.Metrics.countUnfollowed(string(crawl.NoFollow))
			return nil
		}
		e.Rel, l.Rel = "a", "a"
	}
	if v.crawl.Scope.Requisites && links.Requisite(e.Rel) {
		l.Depth = v.depth
	}
	keep, why := true, crawl.Followed
	if e.Rel != "sitemap" {
		if keep, why = v.crawl.Scope.Follow(l); why == crawl.Followed {
			s, _ := v.crawlState.client.Scheme(l.URL.Scheme())
			if !s.Retrieves() || s.Local {
				why = crawl.OtherScheme
			}
		}
	}
	if why != crawl.Followed {
		v.Metrics.countUnfollowed(string(why))
		return nil
	}
	return v.addPage(ctx, l, &page{Seed: v.sub.Page.Seed, Rel: e.Rel, Kind: e.Kind, Read: !keep || e.Rel == "sitemap"})
}

// addSitemaps queues the sitemaps of the seed's server.
func (v *visit) addSitemaps(ctx context.Context, sitemaps []string) error {
	u := v.sub.Job.URL
	guessed := len(sitemaps) == 0
	if guessed && !v.crawlState.client.Traits(u).HTML {
		return nil
	}
	if guessed {
		sitemaps = []string{"/sitemap.xml"}
	}
	for _, text := range sitemaps[:min(len(sitemaps), maxSitemaps)] {
		ref, err := uri.ParseRef(text)
		if err != nil {
			continue
		}
		l := crawl.Link{URL: v.plain(u.Resolve(ref)).WithoutUserinfo().WithoutFragment(), From: u, Depth: 0}
		if l.URL.Site() != u.Site() && !v.crawl.Scope.SpanHosts {
			continue
		}
		if err := v.addPage(ctx, l, &page{Seed: v.sub.Page.Seed, Rel: "sitemap", Guessed: guessed, Read: true}); err != nil {
			return err
		}
	}
	return nil
}

const maxSitemaps = 10_000 // sitemaps of a server
