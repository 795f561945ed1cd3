// Package crawl visits pages and the links they contain, over every protocol with listings or
// links. An interrupted crawl can be resumed.
//
// Run visits the seeds and then each linked URL that the Scope accepts, once. A State keeps the
// known URLs and the queue in a file. Memory use therefore does not grow with the crawl, and a
// crash loses only about a second of work. The caller decides how a page is processed: package
// mirror saves files; by default a page is only read for links.
package crawl

import (
	"cmp"
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

// Options configure a crawl. A nil *Options means the defaults. Visit and Skip are called
// concurrently, for as many pages as the schedule allows. The other functions, except Waiting, are
// never called concurrently.
type Options struct {
	// State holds the progress of the crawl. Nil means a temporary file, which is removed at the
	// end. If StateRemoved is true, the caller removes the State once the crawl is complete, so that
	// its end need not be written.
	State        *State
	StateRemoved bool
	// Scope decides which links are followed.
	Scope Scope
	// Schedule limits how many pages are visited at once.
	Schedule schedule.Options
	// Agent is the name by which robots.txt files address the crawler. The default is DefaultAgent.
	Agent string
	// NoRobots ignores robots.txt files and meta elements robots. Otherwise a link over http, gemini
	// or gopher is visited only if the server's robots.txt allows it, and links of a page with
	// <meta name="robots" content="nofollow"> are not followed. Seeds are always visited.
	NoRobots bool
	// Sitemaps adds the sitemaps of the seeds' servers to the crawl.
	Sitemaps bool
	// MaxAlike limits how many linked URLs of one form are visited. URLs have the same form if they
	// differ only in numbers and in the values of their parameters, as in calendars. 0 means
	// DefaultAlike; if MaxAlike is negative, there is no limit.
	MaxAlike int

	// MaxRedirects limits the redirects from a linked URL, as in fetch.Options. 0 means
	// DefaultRedirects; if MaxRedirects is negative, there is no limit.
	MaxRedirects int

	// Visit visits a page. Nil means Page.Read. It passes the page's responses to Page.Receive, and
	// its redirects to Page.Redirect, as Page.Request does. An error concerns only that page and does
	// not stop the crawl, except one caused by a full or read-only disk.
	Visit func(ctx context.Context, p *Page) error
	// Skip, if not nil, reports whether a listed page needs no visit because the listing shows
	// that it is unchanged. It is called before the page is queued, if an earlier crawl visited it
	// successfully. If it returns true, the page is recorded as visited, with the Memo and the
	// Result that Skip set.
	Skip func(p *Page) bool
	// Sync makes the effects of past visits durable. It is called before the state file records
	// these visits as complete. An error ends the crawl.
	Sync func() error
	// Ended is called after each visit. The error is nil if the visit succeeded or if the page
	// redirects (see Page.Target).
	Ended func(p *Page, err error)
	// Enough, if not nil, is called before each visit. Once it returns true, no new visit begins.
	// Run returns ErrEnough when the active visits have ended.
	Enough func() bool
	// Left is called for each link that is not followed. It may be called several times for one
	// link.
	Left func(l Link, why Reason)
	// Waiting is called with the number of queued and active URLs each time it changes. It must
	// return quickly, and calls may overlap.
	Waiting func(n int64)
}

const (
	// DefaultAgent, DefaultAlike and DefaultRedirects are the defaults of Options.Agent,
	// Options.MaxAlike and Options.MaxRedirects.
	DefaultAgent     = "urlget"
	DefaultAlike     = 20_000
	DefaultRedirects = 10
)

// ErrEnough is returned by Run if Options.Enough stopped the crawl. The crawl can be resumed.
var ErrEnough = errors.New("crawl: stopped by Options.Enough")

// A Report counts the results of a crawl in this process.
type Report struct {
	Visited int64 // successful visits of pages that do not redirect
	Failed  int64
	Left    int64 // links that were not followed
}

// Run crawls from the seeds until the queue is empty. If the state is that of an unfinished crawl,
// Run resumes it and retries its failed pages.
//
// Failed visits are reported to Options.Ended. An error of Run means that the crawl is unfinished
// and can be resumed: the context was canceled, the state failed, the disk is full, or
// Options.Enough or Options.Sync stopped it.
func Run(ctx context.Context, client *fetch.Client, seeds []uri.URI, opts *Options) (*Report, error) {
	c := &crawl{seeds: map[int]uri.URI{}}
	if opts != nil {
		c.Options = *opts
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
		c.State, c.StateRemoved = st, true
	}
	c.visitor = c.newVisitor(client)
	err := c.run(ctx, seeds)
	return &c.report, err
}

func (c *crawl) newVisitor(client *fetch.Client) *Visitor {
	return &Visitor{
		Rules: Rules{Client: client, Scope: c.Scope, NoRobots: c.NoRobots, Sitemaps: c.Sitemaps,
			MaxAlike:     cmp.Or(c.MaxAlike, DefaultAlike),
			MaxRedirects: cmp.Or(c.MaxRedirects, DefaultRedirects)},
		Robots:   NewRobots(client, cmp.Or(c.Agent, DefaultAgent)),
		Frontier: c,
		Left:     c.reportUnfollowed,

		attemptFailed: func(host string, err error) { c.scheduler.Failed(host, err) },
	}
}

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
		st.Remove()
		os.RemoveAll(dir)
	}, nil
}

// A crawl is the state of one call of Run. It is the Frontier of its visitor.
type crawl struct {
	Options
	visitor   *Visitor
	scheduler *schedule.Scheduler

	mu     sync.Mutex // protects the fields below, and serializes calls of Ended, Enough and Left
	seeds  map[int]uri.URI
	report Report
	fatal  error // the error that stopped the crawl
	stop   context.CancelCauseFunc
}

func (c *crawl) run(ctx context.Context, seeds []uri.URI) error {
	keys := make([]string, len(seeds))
	for i, u := range seeds {
		seeds[i] = c.visitor.withoutDefaultPort(u)
		keys[i] = seeds[i].WithoutUserinfo().String()
	}
	c.State.sync = c.Sync
	defer func() {
		if !c.StateRemoved { // otherwise it has changes that are not written yet
			c.State.sync = nil
		}
	}()
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
		l := &Link{URL: u, seed: n, Size: -1, Save: c.Scope.KeepsSeed(u, c.visitor.Client.Traits(u))}
		c.seeds[n] = c.movedSeed(n, u)
		if _, err := c.State.add(newItem(l), -1, "", 0); err != nil {
			return err
		}
	}
	c.reportWaiting()
	ctx, c.stop = context.WithCancelCause(ctx)
	defer c.stop(nil)
	if c.Schedule.Pipeline == nil {
		c.Schedule.Pipeline = c.visitor.Client.Pipeline
	}
	c.scheduler = schedule.New(&c.Schedule)
	err = c.scheduler.Run(ctx, c.next)
	if err == nil && c.enough() && c.State.hasQueued() {
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
	return c.State.finish(c.StateRemoved)
}

// movedSeed returns the URL to which a seed of a resumed crawl redirected, or u if it did not. The
// login of u is kept if the origin is the same.
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

func (c *crawl) next(ctx context.Context, room func(string) bool) (schedule.Task, error) {
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
	var first *fetch.Request
	if s, _ := c.visitor.Client.Scheme(it.URL.Scheme()); s.Pipelined {
		first = c.page(it, nil).Request(ctx)
	}
	return schedule.Task{Host: it.URL.Host(), Request: first, Do: func(ctx context.Context) error {
		if c.enough() {
			c.State.release(it)
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

func (c *crawl) page(it *item, memo []byte) *Page {
	l := it.Link
	l.Seed = c.seed(it.seed)
	l.URL = l.URL.WithLoginOf(l.Seed)
	p := c.visitor.Page(l)
	p.Memo, p.item = memo, it
	return p
}

func (c *crawl) do(ctx context.Context, it *item) error {
	defer c.State.release(it)
	memo, _ := c.State.memo(it.id())
	p := c.page(it, memo)
	why, err := c.visitor.Visit(ctx, p, func(ctx context.Context) error {
		if p.Delay > 0 {
			limits := c.Schedule.Host
			limits.Delay = max(limits.Delay, p.Delay)
			c.scheduler.SetLimits(p.URL.Host(), limits)
		}
		return c.Visit(ctx, p)
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return schedule.ErrNoVerdict // it stays in the queue
	case fullDisk(err):
		c.fail(err)
		return schedule.ErrNoVerdict
	case why == Followed, why == Moved:
		c.reportVisit(p, err)
	}
	if err := c.recordOutcome(p, err); err != nil {
		c.fail(err)
	}
	return err
}

func (c *crawl) reportWaiting() {
	if c.Waiting != nil {
		c.Waiting(c.State.Waiting())
	}
}

func (c *crawl) recordOutcome(p *Page, err error) error {
	defer c.reportWaiting()
	state := byte(done)
	if err != nil {
		state = failed
	}
	return c.State.finishVisit(p.item, state, p.Memo, c.Scope.Limit())
}

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

func (c *crawl) reportVisit(p *Page, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.report.Failed++
	case p.Target.IsZero():
		c.report.Visited++
	}
	if c.Ended != nil {
		c.Ended(p, err)
	}
}

func (c *crawl) reportUnfollowed(l Link, why Reason) {
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
