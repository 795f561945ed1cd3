// Package crawl visits what URLs lead to, over every protocol that lists or links, and goes on
// where it was after a crash.
//
// Run visits the seeds, and then whatever they lead to that a Scope lets in, each URL once. What
// has been met and what waits is in a State, a file, so that neither the memory grows with the
// crawl nor anything is lost with the process. What a visit is, is up to the caller: package mirror
// saves files, and without anything said the links alone are read.
package crawl

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Options say how to crawl. Nil means the defaults. No two of the functions are called at the same
// time, but Visit and Spare are: for as many pages as the schedule allows.
type Options struct {
	// State is where the crawl remembers. Nil means a temporary file, which is removed in the end.
	State *State
	// Scope says which links are followed.
	Scope Scope
	// Schedule says how much is done at once.
	Schedule schedule.Options
	// Agent is the name that robots.txt files know the crawler by; "" means "urlget".
	Agent string
	// NoRobots ignores robots.txt files. Otherwise what is found is visited only if the server's
	// robots.txt allows it, for http, gemini and gopher; seeds are visited in any case.
	NoRobots bool
	// Sitemaps makes seeds of the sitemaps that the servers of the seeds have.
	Sitemaps bool
	// MaxAlike is how many URLs of one form are visited of those that pages lead to: those that
	// differ only in numbers and in the values of their parameters, as in calendars. 0 means
	// 20,000, and less than 0 that there is no limit.
	MaxAlike int

	// Visit visits a page. Nil means Page.Read. An error is the page's own and ends nothing, but an
	// error of class ErrFile that says that the disk is full stops the crawl.
	Visit func(ctx context.Context, p *Page) error
	// Spare, if not nil, is asked of pages that a listing names and that an earlier crawl visited well,
	// before they are queued. True means that what the listing tells suffices: the page is over as if
	// it had been visited, with the Memo and the Result that Spare left.
	Spare func(p *Page) bool
	// Settle makes durable what visits have done so far. It is called before it is written down that
	// they are over. An error ends the crawl.
	Settle func() error
	// Ended is told of each visit. The error is nil if it went well.
	Ended func(p *Page, err error)
	// Enough, if not nil, is asked before each visit. Once it returns true no visit begins, and when
	// those that are under way have ended, Run returns ErrEnough.
	Enough func() bool
	// Left is told of each link that is not followed. The same link may be left several times.
	Left func(l Link, why Reason)
	// Waiting is told how many URLs are to be visited, with those that are being visited, when one
	// was found or has been visited. It must be quick, and calls may overlap.
	Waiting func(n int64)
}

const (
	// DefaultAgent is the name that robots.txt files know the crawler by if nothing else is said, and
	// DefaultAlike that of Options.MaxAlike.
	DefaultAgent = "urlget"
	DefaultAlike = 20_000
)

// ErrEnough is the error of Run if Options.Enough ended the crawl, which can be gone on with.
var ErrEnough = errors.New("crawl: stopped by Options.Enough")

// A Report says what a crawl has done in this process.
type Report struct {
	Visited int64 // visits that went well
	Failed  int64
	Left    int64 // links that were not followed
}

// Run crawls from the seeds until there is nothing left to visit. If the state is that of a crawl
// that did not come to its end, Run goes on with it; what failed in that is tried again.
//
// What fails is told to Options.Ended; an error of Run means that the crawl has not come to its end
// and can be gone on with. It is that of the context, of the state, or of a full disk.
func Run(ctx context.Context, client *fetch.Client, seeds []uri.URI, opts *Options) (*Report, error) {
	c := &crawl{client: client, seeds: map[int]uri.URI{}}
	if opts != nil {
		c.Options = *opts
	}
	if c.Agent == "" {
		c.Agent = DefaultAgent
	}
	if c.MaxAlike == 0 {
		c.MaxAlike = DefaultAlike
	}
	if c.Visit == nil {
		c.Visit = func(ctx context.Context, p *Page) error { return p.Read(ctx) }
	}
	if c.State == nil {
		st, remove, err := temporary()
		if err != nil {
			return &c.report, err
		}
		defer remove()
		c.State = st
	}
	c.robots = NewRobots(client, c.Agent)
	err := c.run(ctx, seeds)
	return &c.report, err
}

// temporary makes a state that goes when it is over.
func temporary() (*State, func(), error) {
	dir, err := os.MkdirTemp("", "urlget-crawl-")
	if err != nil {
		return nil, nil, fileError(err)
	}
	st, err := Open(filepath.Join(dir, "state"))
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	return st, func() {
		st.Close()
		os.RemoveAll(dir)
	}, nil
}

// A crawl is one Run.
type crawl struct {
	Options
	client    *fetch.Client
	scheduler *schedule.Scheduler
	robots    *Robots

	mu     sync.Mutex // for all below, and calls of Ended, Enough and Left
	seeds  map[int]uri.URI
	report Report
	fatal  error // why the crawl is stopped
	stop   context.CancelCauseFunc
}

func (c *crawl) run(ctx context.Context, seeds []uri.URI) error {
	keys := make([]string, len(seeds))
	for i, u := range seeds {
		seeds[i] = c.plain(u)
		keys[i] = seeds[i].WithoutUserinfo().String()
	}
	c.State.settle = c.Settle
	defer func() { c.State.settle = nil }()
	numbers, err := c.State.begin(keys)
	if err != nil {
		return err
	}
	for n, key := range c.State.seeds {
		if u, err := uri.Parse(key); err == nil {
			c.seeds[n] = c.movedSeed(n, u)
		}
	}
	for i, n := range numbers {
		u := seeds[i]
		it := &item{url: u.WithoutUserinfo(), seed: n, size: -1, save: c.Scope.KeepsSeed(u, c.client.Traits(u))}
		c.seeds[n] = c.movedSeed(n, u)
		if _, err := c.State.add(it, -1, "", 0); err != nil {
			return err
		}
	}
	c.counted()
	ctx, c.stop = context.WithCancelCause(ctx)
	defer c.stop(nil)
	if c.Schedule.Pipeline == nil {
		c.Schedule.Pipeline = c.client.Pipeline
	}
	c.scheduler = schedule.New(&c.Schedule)
	err = c.scheduler.Run(ctx, schedule.SourceFunc(c.next))
	if err == nil && c.enough() && c.State.waits() {
		err = ErrEnough
	}
	c.mu.Lock()
	if c.fatal != nil {
		err = c.fatal
	}
	c.mu.Unlock()
	if err != nil {
		c.State.mu.Lock()
		defer c.State.mu.Unlock()
		return errors.Join(err, c.State.write())
	}
	return c.State.finish()
}

// movedSeed returns where an interrupted crawl found a seed, with its login if that has the same
// origin; it is u if it did not move.
func (c *crawl) movedSeed(n int, u uri.URI) uri.URI {
	to, err := uri.Parse(c.State.moved[n])
	switch {
	case c.State.moved[n] == "" || err != nil:
		return u
	case to.Origin() == u.Origin():
		return to.WithUserinfoOf(u)
	}
	return to
}

// plain returns u without a port that is the default one of its driver.
func (c *crawl) plain(u uri.URI) uri.URI {
	s, _ := c.client.Scheme(u.Scheme())
	return u.WithoutPort(s.Port)
}

// next is the source of the scheduler.
func (c *crawl) next(_ context.Context, room func(string) bool) (schedule.Task, error) {
	if c.enough() {
		return schedule.Task{}, io.EOF
	}
	it, err := c.State.take(room)
	if err != nil {
		return schedule.Task{}, err
	}
	if it == nil {
		return schedule.Task{}, schedule.ErrNone
	}
	var ahead *fetch.Request
	if s, _ := c.client.Scheme(it.url.Scheme()); s.Pipelined {
		p := &Page{crawl: c, item: it}
		ahead = &fetch.Request{URL: p.withLogin(it.url), From: it.from}
	}
	return schedule.Task{Host: it.url.Host(), Request: ahead, Do: func(ctx context.Context) error {
		if c.enough() {
			c.State.leave(it)
			return schedule.ErrNoVerdict // it stays in the queue
		}
		return c.do(ctx, it)
	}}, nil
}

func (c *crawl) enough() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Enough != nil && c.Enough()
}

// do visits one item. It returns the error of the visit, for the scheduler.
func (c *crawl) do(ctx context.Context, it *item) error {
	defer c.State.leave(it)
	memo, _ := c.State.memo(it.id())
	p := c.page(it, memo)
	err := c.visit(ctx, p)
	switch {
	case ctx.Err() != nil && err != nil:
		return schedule.ErrNoVerdict // it stays in the queue
	case fullDisk(err):
		c.fail(err)
		return schedule.ErrNoVerdict
	case errors.Is(err, errForbidden):
		p.why = RobotsForbid
		c.left(Link{URL: it.url, From: it.from, Seed: p.seedURL(), Depth: it.depth, Rel: it.rel, Kind: it.kind}, RobotsForbid)
		err = nil
	case it.guessed && errors.Is(err, fetch.ErrNotFound):
		err = nil
	default:
		c.ended(p, err)
	}
	if err := c.settled(p, err); err != nil {
		c.fail(err)
	}
	return err
}

// counted tells how many URLs wait.
func (c *crawl) counted() {
	if c.Waiting != nil {
		c.Waiting(c.State.Waiting())
	}
}

// settled notes in the state how the visit of p ended.
func (c *crawl) settled(p *Page, err error) error {
	defer c.counted()
	state := byte(done)
	if err != nil {
		state = failed
	}
	if p.moved != nil {
		if err := c.State.end(p.moved, state, p.Memo, c.Scope.Limit()); err != nil {
			return err
		}
		return c.State.end(p.item, done, p.Trail, -1)
	}
	return c.State.end(p.item, state, p.Memo, c.Scope.Limit())
}

// fullDisk reports whether err means that nothing more can be saved: that of the next page would
// fail as well.
func fullDisk(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS)
}

func (c *crawl) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fatal == nil {
		c.fatal = err
	}
	c.stop(err)
}

func (c *crawl) ended(p *Page, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.report.Visited++
	} else {
		c.report.Failed++
	}
	if c.Ended != nil {
		c.Ended(p, err)
	}
}

func (c *crawl) left(l Link, why Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Left++
	if c.Left != nil {
		c.Left(l, why)
	}
}

func (c *crawl) seed(n int) uri.URI {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seeds[n]
}

// visit asks the server's robots.txt, and then lets the caller do its work.
func (c *crawl) visit(ctx context.Context, p *Page) error {
	if !c.NoRobots || c.Sitemaps && p.Depth == 0 {
		rules, err := c.robots.Rules(ctx, p.URL, p.From)
		if err == nil && rules.Delay > 0 && !c.NoRobots {
			limits := c.Schedule.Host
			limits.Delay = max(limits.Delay, rules.Delay)
			c.scheduler.SetLimits(p.URL.Host(), limits)
		}
		if c.Sitemaps && p.Depth == 0 && p.Rel == "" && err == nil {
			if err := c.addSitemaps(p, rules.Sitemaps); err != nil {
				return err
			}
		}
		if !c.NoRobots && p.Depth > 0 {
			if err != nil {
				return err
			}
			if ok, _ := rules.Allowed(RobotsPath(p.URL)); !ok {
				return errForbidden
			}
		}
	}
	return c.Visit(ctx, p)
}

// errForbidden reports what robots.txt forbids.
var errForbidden = errors.New("robots.txt forbids it")

// addSitemaps queues the sitemaps of the server of a seed.
func (c *crawl) addSitemaps(p *Page, named []string) error {
	guessed := len(named) == 0
	if guessed && !c.client.Traits(p.URL).HTML {
		return nil
	}
	if guessed {
		named = []string{"/sitemap.xml"}
	}
	for _, text := range named {
		ref, err := uri.ParseRef(text)
		if err != nil {
			continue
		}
		it := &item{url: c.plain(p.URL.Resolve(ref)).WithoutUserinfo().WithoutFragment(), from: p.URL.WithoutUserinfo(), seed: p.item.seed, rel: "sitemap", size: -1, guessed: guessed}
		if it.url.Site() != p.URL.Site() && !c.Scope.SpanHosts {
			continue
		}
		if _, err := c.State.add(it, -1, "", 0); err != nil {
			return err
		}
	}
	return nil
}
