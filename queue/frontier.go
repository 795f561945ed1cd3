package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/urlget/urlget/crawl"
)

// A mark is the state of a page that a crawl has found.
type mark struct {
	Depth int `json:"d"` // distance in links from the nearest seed
	// Followed is 1 plus the depth at which the links of the page were followed; 0 if they were
	// not.
	Followed int `json:"x,omitempty"`
}

// followed reports whether the links of the page have been followed from its current depth.
func (m mark) followed() bool { return m.Followed > 0 && m.Followed-1 <= m.Depth }

// A frontier tracks the pages that a crawl has found. A new page is first queued and then marked.
// If a worker crashes in between, the page with the link has not ended and is visited again. A page
// that is queued twice has one ID and therefore one result.
type frontier struct {
	engine   Engine
	priority Priority

	mu    sync.Mutex
	known map[string]int // depths of pages, to avoid engine requests

	payLock    mutex          // guards allowances during engine requests
	allowances map[string]int // reserved and unspent parts of budgets
}

func newFrontier(e Engine, p Priority) *frontier {
	return &frontier{engine: e, priority: p, payLock: newMutex()}
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
func (f *frontier) change(ctx context.Context, id string, edit func(m *mark, exists bool) (bool, error)) error {
	return replace(ctx, f.engine.Pages(), "page/"+id, func(old []byte, exists bool) ([]byte, error) {
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

// add queues a page unless it is known, and reports whether it is new. A known page is queued again
// if this link makes it nearer and its links were already followed, since they become nearer too.
// pay, if not nil, is called before a new page is queued. If it returns false, the page is not
// added.
func (f *frontier) add(ctx context.Context, c *Crawl, s *submission, pay func() (bool, error)) (fresh bool, err error) {
	depth := s.Job.Depth
	f.mu.Lock()
	at, ok := f.known[s.ID]
	f.mu.Unlock()
	if ok && (at <= depth || c.Scope.Limit() < 0) {
		return false, nil
	}
	paid := true
	err = f.change(ctx, s.ID, func(m *mark, exists bool) (bool, error) {
		at = m.Depth
		key := s.ID
		switch {
		case !exists:
			fresh = true
			if pay != nil {
				if ok, err := pay(); !ok || err != nil {
					paid, fresh = false, false
					return false, err
				}
				pay = nil
			}
		case m.Depth <= depth || c.Scope.Limit() < 0:
			return false, nil
		case m.Followed > 0:
			key += "/" + strconv.Itoa(depth)
		default:
			key = "" // it is still queued and will be visited with the new depth
		}
		if key != "" {
			data, err := s.encode(longest(f.engine))
			if err != nil {
				return false, err
			}
			if _, err := f.engine.Submit(ctx, f.priority, key, data); err != nil {
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

// visit returns the current depth of a page that is about to be visited, and whether its links were
// followed from there.
func (f *frontier) visit(ctx context.Context, s *submission, id string) (depth int, followed bool, err error) {
	err = f.change(ctx, id, func(m *mark, exists bool) (bool, error) {
		nearer := !exists || s.Job.Depth < m.Depth // the submitter has not updated the mark yet
		if nearer {
			m.Depth = s.Job.Depth
		}
		depth, followed = m.Depth, m.followed()
		return nearer, nil
	})
	return depth, followed, err
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
	return now, err
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

// payer returns the pay function for a new page. It checks the budgets of all pages and of pages
// with similar URLs.
func (f *frontier) payer(ctx context.Context, c *Crawl, s *submission, listed bool, why *crawl.Reason) func() (bool, error) {
	return func() (bool, error) {
		if form := crawl.Form(s.Job.URL); form != "" && !listed && c.maxAlike() >= 0 {
			sum := sha256.Sum256([]byte(form))
			if ok, err := f.spend(ctx, "form/"+hex.EncodeToString(sum[:12]), c.maxAlike()); !ok || err != nil {
				*why = crawl.TooManyAlike
				return false, err
			}
		}
		ok, err := f.spend(ctx, "pages", c.maxPages())
		if !ok {
			*why = tooManyPages
		}
		return ok, err
	}
}

// tooManyPages is the reason for links that are not followed because of MaxPages.
const tooManyPages crawl.Reason = "pages"

// An engineError is the error of a failed engine operation. The state of the page is then unknown.
type engineError struct{ err error }

func (e *engineError) Error() string { return fmt.Sprintf("the queue: %v", e.err) }
func (e *engineError) Unwrap() error { return e.err }
