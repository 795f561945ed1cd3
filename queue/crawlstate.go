package queue

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
)

type crawlState struct {
	engine  Engine
	client  *fetch.Client
	cookies func(file []byte) error // Worker.Cookies
	left    func(crawl.Link, crawl.Reason)
	moved   *movedPages

	loading   mutex      // held while the crawl is loaded
	mu        sync.Mutex // guards the fields below
	crawl     *Crawl
	loaded    time.Time // time when crawl was loaded
	robots    *crawl.Robots
	frontiers map[Priority]*frontier
}

const crawlCacheTime = 2 * time.Second // how long a loaded Crawl is used

func newCrawlState(w *Worker, r *Results) *crawlState {
	c := &crawlState{engine: w.Engine, client: w.Runner.Downloader.Client, cookies: w.Cookies,
		loading: newMutex(), moved: newMovedPages(r)}
	c.left = func(l crawl.Link, why crawl.Reason) {
		if why != crawl.RobotsForbid && why != crawl.NeedsForm { // these are pages with a result
			w.Metrics.countUnfollowed(string(why))
		}
		if w.Left != nil {
			w.Left(l, why)
		}
	}
	return c
}

// load returns the crawl, at most crawlCacheTime old, with secrets of at least that revision.
func (c *crawlState) load(ctx context.Context, secrets uint64) (*Crawl, error) {
	if cached := c.fresh(secrets); cached != nil {
		return cached, nil
	}
	if err := c.loading.lock(ctx); err != nil {
		return nil, err
	}
	defer c.loading.unlock()
	if cached := c.fresh(secrets); cached != nil {
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
		c.robots.Share = (&sharedRules{c.engine, now.agent()}).rules
		c.frontiers = map[Priority]*frontier{}
	}
	c.crawl, c.loaded = now, time.Now()
	for _, f := range c.frontiers {
		f.crawl.Store(now)
	}
	return now, nil
}

// fresh returns the cached crawl, or nil if it or its secrets are too old.
func (c *crawlState) fresh(secrets uint64) *Crawl {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crawl != nil && c.crawl.secrets.revision >= secrets && time.Since(c.loaded) < crawlCacheTime {
		return c.crawl
	}
	return nil
}

// passCookies passes the cookies of the crawl to the client if they are new. The caller holds
// loading.
func (c *crawlState) passCookies(now *Crawl) error {
	c.mu.Lock()
	former := c.crawl
	c.mu.Unlock()
	if c.cookies == nil || former != nil && former.Token == now.Token &&
		bytes.Equal(former.secrets.Cookies, now.secrets.Cookies) {
		return nil
	}
	if err := c.cookies(now.secrets.Cookies); err != nil {
		return fmt.Errorf("the cookies of the crawl: %w", err)
	}
	return nil
}

func (c *crawlState) frontierFor(p Priority) *frontier {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.frontiers[p]
	if f == nil {
		f = newFrontier(c.engine, p, c.crawl, c.moved)
		f.visitor = &crawl.Visitor{
			Rules: crawl.Rules{Client: c.client, Scope: c.crawl.Scope, NoRobots: c.crawl.NoRobots,
				Sitemaps: c.crawl.Sitemaps,
				MaxAlike: c.crawl.maxAlike(), MaxRedirects: crawl.DefaultRedirects, NoLocal: true},
			Robots: c.robots, Frontier: f, Left: c.left,
		}
		c.frontiers[p] = f
	}
	return f
}

func (c *Crawl) maxPages() int { return cmp.Or(c.MaxPages, defaultPages) }
func (c *Crawl) maxAlike() int { return cmp.Or(c.MaxAlike, crawl.DefaultAlike) }
func (c *Crawl) agent() string { return cmp.Or(c.Agent, crawl.DefaultAgent) }
