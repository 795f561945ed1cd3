package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// A Crawl says how the pages of a queue are followed. It is among the Engine.Pages of the queue.
type Crawl struct {
	// Token tells the crawl from all others. StartCrawl sets it, and Started.
	Token   string    `json:"token"`
	Started time.Time `json:"started"`

	Scope crawl.Scope `json:"scope"`
	// Agent, NoRobots, Sitemaps and MaxAlike are as in crawl.Options.
	Agent    string `json:"agent,omitempty"`
	NoRobots bool   `json:"no_robots,omitempty"`
	Sitemaps bool   `json:"sitemaps,omitempty"`
	MaxAlike int    `json:"max_alike,omitempty"`
	// MaxPages bounds how many links are followed in all; 0 means 1,000,000. What is known of each
	// takes room in the engine.
	MaxPages int `json:"max_pages,omitempty"`

	// Stopped means that no worker begins to visit a page.
	Stopped bool `json:"stopped,omitempty"`
}

const (
	crawlKey     = "crawl" // of the Crawl among the pages
	defaultPages = 1_000_000
)

// ErrNoCrawl is the error of LoadCrawl if the queue is that of a crawl, which was not started.
var ErrNoCrawl = errors.New("queue: no such crawl")

// StartCrawl starts a crawl, unless the one of this queue was started before: then started is false,
// and the crawl is that one.
func StartCrawl(ctx context.Context, e Engine, c *Crawl) (_ *Crawl, started bool, err error) {
	if e.Pages() == nil {
		return nil, false, errors.New("the queue is not that of a crawl")
	}
	mine := *c
	mine.Token, mine.Started = rand.Text(), time.Now().UTC().Truncate(time.Millisecond)
	data, err := json.Marshal(mine)
	if err != nil {
		return nil, false, err
	}
	if longest := min(e.Limits().Message, MaxSubmission); len(data) > longest {
		return nil, false, refused(nil, fmt.Errorf("a crawl whose scope takes %d bytes, and the queue takes %d", len(data), longest))
	}
	if _, err = e.Pages().Create(ctx, crawlKey, data); err != nil && !errors.Is(err, ErrExists) {
		return nil, false, err
	}
	have, err := LoadCrawl(ctx, e)
	if err != nil {
		return nil, false, err
	}
	return have, have.Token == mine.Token, nil
}

// LoadCrawl returns the crawl of a queue; ErrNoCrawl if it was not started.
func LoadCrawl(ctx context.Context, e Engine) (*Crawl, error) {
	c, _, err := loadCrawl(ctx, e)
	return c, err
}

func loadCrawl(ctx context.Context, e Engine) (*Crawl, uint64, error) {
	if e.Pages() == nil {
		return nil, 0, errors.New("the queue is not that of a crawl")
	}
	data, revision, err := e.Pages().Get(ctx, crawlKey)
	if errors.Is(err, ErrNotFound) {
		return nil, 0, &fetch.Error{Code: fetch.ErrNotFound, Err: ErrNoCrawl}
	}
	if err != nil {
		return nil, 0, err
	}
	c := &Crawl{}
	if err := json.Unmarshal(data, c); err != nil || c.Token == "" {
		return nil, 0, refused(nil, fmt.Errorf("no description of a crawl: %w", cmp.Or(err, errors.New("it has no token"))))
	}
	return c, revision, nil
}

// StopCrawl makes that no worker begins to visit a page of the crawl, or that they do again. They
// learn of it within seconds; visits that are under way end as always.
func StopCrawl(ctx context.Context, e Engine, stopped bool) error {
	for try := 0; ; try++ {
		c, revision, err := loadCrawl(ctx, e)
		if err != nil || c.Stopped == stopped {
			return err
		}
		c.Stopped = stopped
		data, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if _, err = e.Pages().Update(ctx, crawlKey, data, revision); !errors.Is(err, ErrConflict) || try == 10 {
			return err
		}
	}
}

// Submit adds a page where the crawl begins; t are the traits of its scheme. Known is true if the
// crawl has met it. While the engine cannot be reached it tries again, for half a minute.
func (c *Crawl) Submit(ctx context.Context, e Engine, p Priority, seed uri.URI, t fetch.Traits) (known bool, err error) {
	if err := (&job.Job{URL: seed}).Validate(); err != nil {
		return false, err
	}
	seed = seed.WithoutFragment()
	page := &Page{Seed: seed, Read: !c.Scope.KeepsSeed(seed, t)}
	sub := c.submission(&job.Job{URL: seed.WithoutUserinfo()}, page)
	err = insist(ctx, func(ctx context.Context, try int) error {
		fresh, err := newFrontier(e, p).add(ctx, c, sub, nil)
		known = err == nil && !fresh && try == 0 // one that is there after a try without an answer is that one
		return err
	})
	return known, err
}

// A Page is what a job of a crawl has besides: how it was found.
type Page struct {
	Seed uri.URI `json:"seed"` // where the way began, with the login there
	// Rel and Kind are how the page before listed it.
	Rel  string          `json:"rel,omitempty"`
	Kind fetch.EntryKind `json:"kind,omitempty"`
	// Read means that only the links are wanted; Guessed that nobody has said that it is there; Moved
	// that a redirect led to it.
	Read    bool `json:"read,omitempty"`
	Guessed bool `json:"guessed,omitempty"`
	Moved   bool `json:"moved,omitempty"`
}

// pageID returns the name of a page. It is the same for all that lead to it.
func (c *Crawl) pageID(u uri.URI) string {
	sum := sha256.Sum256([]byte(c.Token + "\n" + u.Key()))
	return hex.EncodeToString(sum[:16])
}

// submission returns the submission of a page, which has the page's name: there is one result for
// each name.
func (c *Crawl) submission(j *job.Job, p *Page) *Submission {
	s := NewSubmission(j)
	s.ID, s.Page = c.pageID(j.URL), p
	return s
}

func (c *Crawl) maxPages() int { return cmp.Or(c.MaxPages, defaultPages) }
func (c *Crawl) maxAlike() int { return cmp.Or(c.MaxAlike, crawl.DefaultAlike) }
func (c *Crawl) agent() string { return cmp.Or(c.Agent, crawl.DefaultAgent) }
