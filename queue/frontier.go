package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A mark is the state of a page that a crawl has found.
type mark struct {
	Depth int `json:"d"` // distance in links from the nearest seed
	// Followed is 1 plus the depth at which the links of the page were followed; 0 if they were
	// not.
	Followed int `json:"x,omitempty"`
	// Via is the chain of redirects that led to the page, see crawl.Link. Former versions drop it.
	Via []uri.URI `json:"v,omitempty"`
}

// followed reports whether the links of the page have been followed from its current depth.
func (m mark) followed() bool { return m.Followed > 0 && m.Followed-1 <= m.Depth }

// A frontier stores the pages of a crawl in an engine, as a crawl.Frontier. A new page is first
// queued and then marked. If a worker crashes in between, the page with the link has not ended and is
// visited again. A page that is queued twice has one ID and therefore one result.
type frontier struct {
	engine   Engine
	marks    marks
	priority Priority
	crawl    atomic.Pointer[Crawl] // with its latest secrets
	visitor  *crawl.Visitor        // of the pages of the frontier

	mu    sync.Mutex
	known map[string]int // depths of pages, to avoid engine requests

	payLock    mutex          // guards allowances during engine requests
	allowances map[string]int // reserved and unspent parts of budgets
}

func newFrontier(e Engine, p Priority, c *Crawl, moved *movedPages) *frontier {
	f := &frontier{engine: e, marks: marks{e.Pages(), moved}, priority: p, payLock: newMutex()}
	f.crawl.Store(c)
	return f
}

const (
	maxKnown      = 200_000 // pages in the cache
	maxAllowances = 10_000
	maxAllowance  = 50 // largest part of a budget that a worker reserves at once
)

func (f *frontier) remember(id string, depth int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxKnown {
		f.known = map[string]int{}
	}
	f.known[id] = depth
}

// change updates the mark of a page with edit, whose second argument reports whether the mark
// exists. If edit returns false, the mark is not changed.
func (f *frontier) change(ctx context.Context, id string,
	edit func(m *mark, exists bool) (bool, error)) error {
	return replace(ctx, f.marks, pageKey+id, func(old []byte, exists bool) ([]byte, error) {
		var m mark
		if json.Unmarshal(old, &m) != nil {
			m = mark{} // not written by a worker
		}
		if changed, err := edit(&m, exists); !changed || err != nil {
			return nil, err
		}
		return json.Marshal(m)
	})
}

// Add implements crawl.Frontier.
func (f *frontier) Add(ctx context.Context, l *crawl.Link, form string) (crawl.Reason, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	c := f.crawl.Load()
	why := crawl.Followed
	_, err := f.add(ctx, c.submission(l), l.Via, func() (paid bool, err error) {
		why, err = f.pay(ctx, c, form)
		return why == crawl.Followed && err == nil, err
	})
	if fetch.CodeOf(err) == fetch.ErrRequest || fetch.CodeOf(err) == fetch.ErrURL {
		return crawl.NoTarget, nil // workers would refuse the job
	}
	return why, storeError(err)
}

// AddTarget implements crawl.Frontier. A page has one result and is not visited again.
func (f *frontier) AddTarget(ctx context.Context, l *crawl.Link) (follow bool, err error) {
	if l.Returns() {
		return true, nil
	}
	why, err := f.Add(ctx, l, "")
	if why != crawl.Followed {
		f.visitor.Left(*l, why)
	}
	return false, err
}

// MoveSeed implements crawl.Frontier. The client has added the login of the site to the target, and
// jobs must not have it.
func (f *frontier) MoveSeed(_ context.Context, p *crawl.Page, to uri.URI) (uri.URI, error) {
	if to.Site() != p.Seed.Site() {
		return to, nil
	}
	return to.WithoutUserinfo().WithUserinfoOf(p.Seed), nil
}

// add queues a page unless it is known, and reports whether it is new. A known page is queued again
// if this link makes it nearer and its links were already followed, since they become nearer too.
// pay, if not nil, is called before a new page is queued. If it returns false, the page is not
// added.
func (f *frontier) add(ctx context.Context, s *submission, via []uri.URI,
	pay func() (bool, error)) (fresh bool, err error) {
	depth, limit := s.Job.Depth, f.crawl.Load().Scope.Limit()
	f.mu.Lock()
	at, ok := f.known[s.ID]
	f.mu.Unlock()
	if ok && (at <= depth || limit < 0) {
		return false, nil
	}
	paid := true
	err = f.change(ctx, s.ID, func(m *mark, exists bool) (bool, error) {
		at = m.Depth
		key := s.ID
		switch {
		case !exists:
			fresh, m.Via = true, via
			if pay != nil {
				if ok, err := pay(); !ok || err != nil {
					paid, fresh = false, false
					return false, err
				}
				pay = nil
			}
		case m.Depth <= depth || limit < 0:
			return false, nil
		case m.Followed > 0:
			key += "/" + strconv.Itoa(depth)
		default:
			key = "" // it is still queued and will be visited with the new depth
		}
		if key != "" {
			if err := f.submit(ctx, s, key); err != nil {
				return false, err
			}
		}
		m.Depth, at = depth, depth
		return true, nil
	})
	if err == nil && paid {
		f.remember(s.ID, at)
	}
	return fresh, err
}

func (f *frontier) submit(ctx context.Context, s *submission, key string) error {
	data, err := s.encode(longest(f.engine))
	if err == nil {
		_, err = f.engine.Submit(ctx, f.priority, key, data)
	}
	return err
}

// visit returns the mark of a page that is about to be visited, with its current depth.
func (f *frontier) visit(ctx context.Context, s *submission, id string) (now mark, err error) {
	err = f.change(ctx, id, func(m *mark, exists bool) (bool, error) {
		nearer := !exists || s.Job.Depth < m.Depth // the submitter has not updated the mark yet
		if nearer {
			m.Depth = s.Job.Depth
		}
		now = *m
		return nearer, nil
	})
	return now, err
}

// recordFollowed records that the links of a page were followed from a depth. If the page is nearer
// by now, recordFollowed returns the new depth and records nothing.
func (f *frontier) recordFollowed(ctx context.Context, id string, depth int) (now int, err error) {
	err = f.change(ctx, id, func(m *mark, exists bool) (bool, error) {
		if !exists {
			m.Depth = depth
		}
		now = min(m.Depth, depth)
		if now < depth || m.followed() {
			return false, nil
		}
		m.Followed = depth + 1
		return true, nil
	})
	return now, storeError(err)
}

// spend takes one unit from a budget shared by all workers, and reports whether one was left. Units
// that a worker reserves and does not use are lost, so that the budget is never exceeded.
func (f *frontier) spend(ctx context.Context, budget string, limit int) (bool, error) {
	if err := f.payLock.lock(ctx); err != nil {
		return false, err
	}
	defer f.payLock.unlock()
	if f.allowances == nil || len(f.allowances) >= maxAllowances {
		f.allowances = map[string]int{}
	}
	if f.allowances[budget] > 0 {
		f.allowances[budget]--
		return true, nil
	}
	n := 0
	err := replace(ctx, f.engine.Pages(), "spent/"+budget, func(old []byte, _ bool) ([]byte, error) {
		spent, _ := strconv.Atoi(string(old))
		if n = min(limit-spent, max(1, min(limit/200, maxAllowance))); n <= 0 {
			return nil, nil
		}
		return []byte(strconv.Itoa(spent + n)), nil
	})
	if err != nil || n <= 0 {
		return false, err
	}
	f.allowances[budget] = n - 1
	return true, nil
}

// pay takes a new page from the budgets of all pages and of pages of its form. It returns the reason
// if one is spent.
func (f *frontier) pay(ctx context.Context, c *Crawl, form string) (crawl.Reason, error) {
	if form != "" {
		sum := sha256.Sum256([]byte(form))
		if ok, err := f.spend(ctx, "form/"+hex.EncodeToString(sum[:12]), c.maxAlike()); !ok || err != nil {
			return crawl.TooManyAlike, err
		}
	}
	if ok, err := f.spend(ctx, "pages", c.maxPages()); !ok || err != nil {
		return tooManyPages, err
	}
	return crawl.Followed, nil
}

const tooManyPages crawl.Reason = "pages"

func storeError(err error) error {
	if err == nil {
		return nil
	}
	return &crawl.StoreError{Err: fmt.Errorf("the queue: %w", err)}
}
