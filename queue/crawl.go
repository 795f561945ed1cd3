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

// A Crawl is the description of a crawl. It is stored in Engine.Pages.
type Crawl struct {
	// Token is unique for each crawl. StartCrawl sets Token and Started.
	Token   string    `json:"token"`
	Started time.Time `json:"started"`

	Scope crawl.Scope `json:"scope"`
	// Agent, NoRobots, Sitemaps and MaxAlike have the meaning of crawl.Options.
	Agent    string `json:"agent,omitempty"`
	NoRobots bool   `json:"no_robots,omitempty"`
	Sitemaps bool   `json:"sitemaps,omitempty"`
	MaxAlike int    `json:"max_alike,omitempty"`
	// MaxPages limits the total number of followed links; 0 means 1,000,000. The engine stores the
	// state of each page.
	MaxPages int `json:"max_pages,omitempty"`

	// Store opens the store of the pages that a Compaction has moved, for Submit. StartCrawl passes it on.
	Store func(context.Context) (Store, error) `json:"-"`

	secrets *secrets    // set by StartCrawl and loadWithSecrets
	moved   *movedPages // set by StartCrawl
}

const (
	crawlKey     = "crawl" // key of the Crawl in Engine.Pages
	defaultPages = 1_000_000
)

// ErrNoCrawl is returned by LoadCrawl if the crawl was not started.
var ErrNoCrawl = errors.New("queue: no such crawl")

var errNotOfCrawl = errors.New("the queue is not a crawl queue")

// StartCrawl starts a crawl and returns its description. If the queue already has a crawl,
// StartCrawl returns that one and false.
func StartCrawl(ctx context.Context, e Engine, c *Crawl) (_ *Crawl, started bool, err error) {
	if e.Pages() == nil {
		return nil, false, errNotOfCrawl
	}
	mine := *c
	mine.Token, mine.Started = rand.Text(), time.Now().UTC().Truncate(time.Millisecond)
	data, err := json.Marshal(mine)
	if err != nil {
		return nil, false, err
	}
	if most := longest(e); len(data) > most {
		return nil, false, refused(nil,
			fmt.Errorf("the crawl scope has %d bytes, and the limit is %d", len(data), most))
	}
	if _, err = e.Pages().Create(ctx, crawlKey, data); err != nil && !errors.Is(err, ErrExists) {
		return nil, false, err
	}
	have, err := loadWithSecrets(ctx, e)
	if err != nil {
		return nil, false, err
	}
	have.Store, have.moved = c.Store, newMovedPages(&Results{Engine: e, Store: c.Store})
	return have, have.Token == mine.Token, nil
}

// LoadCrawl returns the crawl of a queue, or ErrNoCrawl if it was not started.
func LoadCrawl(ctx context.Context, e Engine) (*Crawl, error) {
	if e.Pages() == nil {
		return nil, errNotOfCrawl
	}
	data, _, err := e.Pages().Get(ctx, crawlKey)
	if errors.Is(err, ErrNotFound) {
		return nil, &fetch.Error{Code: fetch.ErrNotFound, Err: ErrNoCrawl}
	}
	if err != nil {
		return nil, err
	}
	return decodeCrawl(data)
}

func loadWithSecrets(ctx context.Context, e Engine) (*Crawl, error) {
	c, err := LoadCrawl(ctx, e)
	if err == nil {
		c.secrets, err = loadSecrets(ctx, e)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func decodeCrawl(data []byte) (*Crawl, error) {
	c := &Crawl{}
	if err := json.Unmarshal(data, c); err != nil || c.Token == "" {
		return nil, refused(nil,
			fmt.Errorf("invalid crawl description: %w", cmp.Or(err, errors.New("the token is missing"))))
	}
	return c, nil
}

// Submit adds a seed whose scheme has the traits t. Known is true if the crawl already has the
// page. The login of the seed is stored once for the crawl and is not part of the job. It replaces
// an earlier login for the seed's site, also if the page is known. While the engine is unreachable,
// Submit retries for half a minute.
func (c *Crawl) Submit(ctx context.Context, e Engine, p Priority, seed uri.URI,
	t fetch.Traits) (known bool, err error) {
	if err := (&job.Job{URL: seed}).Validate(); err != nil {
		return false, err
	}
	login := seed.WithoutFragment()
	seed = login.WithoutUserinfo()
	sub := c.submission(&crawl.Link{URL: seed, Seed: seed, Save: c.Scope.KeepsSeed(seed, t)})
	err = submitWithRetry(ctx, e, func(ctx context.Context, try int) error {
		if login.Userinfo().HasName {
			stored, err := changeSecrets(ctx, e, withLogin(login))
			if err != nil {
				return err
			}
			sub.Page.Secrets = stored.revision
		}
		moved := c.moved
		if moved == nil {
			moved = newMovedPages(&Results{Engine: e, Store: c.Store})
		}
		fresh, err := newFrontier(e, p, c, moved).add(ctx, sub, nil, nil)
		known = err == nil && !fresh && try == 0 // a known page after a lost response is the first try itself
		return err
	})
	return known, err
}

// A page holds the crawl fields of a job: how the page was found.
type page struct {
	// Seed has a login only if a redirect to it has one, and in jobs of former versions.
	Seed uri.URI `json:"seed"`
	// Rel and Kind come from the link to the page.
	Rel  string          `json:"rel,omitempty"`
	Kind fetch.EntryKind `json:"kind,omitempty"`
	// Read means that the page is read for links only. Guessed means that its URL was guessed and
	// may not exist. Moved means that a redirect led to the page.
	Read    bool `json:"read,omitempty"`
	Guessed bool `json:"guessed,omitempty"`
	Moved   bool `json:"moved,omitempty"`
	// Secrets is the revision of the secrets of the crawl when the page was queued. Workers with
	// older secrets load them again before they visit the page.
	Secrets uint64 `json:"secrets,omitempty"`
}

// pageID returns the ID of a page. It is the same for all links to the page.
func (c *Crawl) pageID(u uri.URI) string {
	sum := sha256.Sum256([]byte(c.Token + "\n" + u.Key()))
	return hex.EncodeToString(sum[:16])
}

// submission returns the submission of the page that a link leads to. Its ID is the page ID, so that
// each page has one result.
func (c *Crawl) submission(l *crawl.Link) *submission {
	s := newSubmission(&job.Job{URL: l.URL, From: l.Source().WithoutUserinfo(), Depth: l.Depth})
	s.ID = c.pageID(l.URL)
	s.Page = &page{Seed: l.Seed, Rel: l.Rel, Kind: l.Kind, Read: !l.Save, Guessed: l.Guessed,
		Moved: len(l.Via) > 0}
	if c.secrets != nil {
		s.Page.Secrets = c.secrets.revision
	}
	return s
}
