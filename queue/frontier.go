package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/urlget/urlget/crawl"
)

// A mark is what is known of a page that a crawl has met.
type mark struct {
	Depth int `json:"d"` // links from the nearest seed
	// Followed is the depth from which the links of the page were followed, and 1; 0 if they were
	// not.
	Followed int `json:"x,omitempty"`
}

// followed reports whether the links of the page have been followed from where it is.
func (m mark) followed() bool { return m.Followed > 0 && m.Followed-1 <= m.Depth }

// A frontier is where what pages lead to is told from what is known. What is new goes into the
// queue first and is marked then: whoever ends in between has not ended the page that led there, so
// that it is found again. What then goes into the queue twice has one name, and so one result.
type frontier struct {
	engine   Engine
	priority Priority

	mu    sync.Mutex
	known map[string]int // depths of pages, so that the engine need not be asked

	paying     chan struct{}  // holds a value unless somebody asks what is left of a budget
	allowances map[string]int // what may be spent of a budget without asking
}

func newFrontier(e Engine, p Priority) *frontier {
	f := &frontier{engine: e, priority: p, paying: make(chan struct{}, 1)}
	f.paying <- struct{}{}
	return f
}

const (
	maxKnown      = 200_000 // pages that are remembered
	maxAllowances = 10_000
	maxAllowance  = 50 // how much of a budget one worker takes at once
)

func pageKey(id string) string { return "page/" + id }

func (f *frontier) remember(id string, depth int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxKnown {
		f.known = map[string]int{}
	}
	f.known[id] = depth
}

func (f *frontier) get(ctx context.Context, id string) (mark, uint64, error) {
	var m mark
	data, revision, err := f.engine.Pages().Get(ctx, pageKey(id))
	if err == nil && json.Unmarshal(data, &m) != nil {
		m = mark{} // nothing that a worker wrote
	}
	return m, revision, err
}

func (f *frontier) set(ctx context.Context, id string, m mark, revision uint64) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if revision == 0 {
		_, err = f.engine.Pages().Create(ctx, pageKey(id), data)
	} else {
		_, err = f.engine.Pages().Update(ctx, pageKey(id), data, revision)
	}
	return err
}

// add takes a page in that something leads to, unless it is known, and reports whether it is new. A
// page that was known farther away, and whose links have been followed from there, is visited
// again: what it leads to is nearer now. Pay, if not nil, is asked before a new page goes into the
// queue; if it returns false, nothing happens.
func (f *frontier) add(ctx context.Context, c *Crawl, s *Submission, pay func() (bool, error)) (fresh bool, err error) {
	depth := s.Job.Depth
	f.mu.Lock()
	at, ok := f.known[s.ID]
	f.mu.Unlock()
	if ok && (at <= depth || c.Scope.Limit() < 0) {
		return false, nil
	}
	for {
		m, revision, err := f.get(ctx, s.ID)
		key := s.ID
		switch {
		case errors.Is(err, ErrNotFound):
			revision, fresh = 0, true
			if pay != nil {
				if ok, err := pay(); !ok || err != nil {
					return false, err
				}
				pay = nil
			}
		case err != nil:
			return false, err
		case m.Depth <= depth || c.Scope.Limit() < 0:
			f.remember(s.ID, m.Depth)
			return fresh, nil
		case m.Followed > 0:
			key += "/" + strconv.Itoa(depth)
		default:
			key = "" // it waits, and will see
		}
		if key != "" {
			data, err := s.Encode(min(f.engine.Limits().Message, MaxSubmission))
			if err != nil {
				return false, err
			}
			if _, err := f.engine.Submit(ctx, f.priority, key, data); err != nil {
				return false, err
			}
		}
		m.Depth = depth
		err = f.set(ctx, s.ID, m, revision)
		if err == nil {
			f.remember(s.ID, depth)
		}
		if !errors.Is(err, ErrExists) && !errors.Is(err, ErrConflict) {
			return fresh, err
		}
	}
}

// visit returns how far away a page is now that it is to be visited, and whether its links have been
// followed from there.
func (f *frontier) visit(ctx context.Context, s *Submission, id string) (depth int, followed bool, err error) {
	for {
		m, revision, err := f.get(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound): // whoever submitted it is about to write it down
			m, revision = mark{Depth: s.Job.Depth}, 0
		case err != nil:
			return 0, false, err
		case m.Depth <= s.Job.Depth:
			return m.Depth, m.followed(), nil
		}
		m.Depth = s.Job.Depth
		err = f.set(ctx, id, m, revision)
		if err == nil {
			return m.Depth, m.followed(), nil
		}
		if !errors.Is(err, ErrExists) && !errors.Is(err, ErrConflict) {
			return 0, false, err
		}
	}
}

// follow notes that the links of a page have been followed from a depth. If it is nearer than that
// by now, follow returns how near, and notes nothing.
func (f *frontier) follow(ctx context.Context, id string, depth int) (now int, err error) {
	for {
		m, revision, err := f.get(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound):
			m, revision = mark{Depth: depth}, 0
		case err != nil:
			return depth, err
		case m.Depth < depth:
			return m.Depth, nil
		case m.followed():
			return depth, nil
		}
		m.Followed = depth + 1
		if err = f.set(ctx, id, m, revision); !errors.Is(err, ErrExists) && !errors.Is(err, ErrConflict) {
			return depth, err
		}
	}
}

// spend takes one from a budget that all workers share, and reports whether there was one left. What
// a worker has taken and does not need is lost: never is more spent than there is.
func (f *frontier) spend(ctx context.Context, budget string, most int) (bool, error) {
	select {
	case <-f.paying:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	defer func() { f.paying <- struct{}{} }()
	if f.allowances == nil || len(f.allowances) >= maxAllowances {
		f.allowances = map[string]int{}
	}
	if f.allowances[budget] > 0 {
		f.allowances[budget]--
		return true, nil
	}
	pages := f.engine.Pages()
	for {
		data, revision, err := pages.Get(ctx, "spent/"+budget)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, err
		}
		spent, _ := strconv.Atoi(string(data))
		if spent >= most {
			return false, nil
		}
		take := min(most-spent, max(1, min(most/200, maxAllowance)))
		data = []byte(strconv.Itoa(spent + take))
		if errors.Is(err, ErrNotFound) {
			_, err = pages.Create(ctx, "spent/"+budget, data)
		} else {
			_, err = pages.Update(ctx, "spent/"+budget, data, revision)
		}
		switch {
		case err == nil:
			f.allowances[budget] = take - 1
			return true, nil
		case !errors.Is(err, ErrExists) && !errors.Is(err, ErrConflict):
			return false, err
		}
	}
}

// afford returns what a new page is paid from: how many pages there may be, and how many of the form
// of its URL.
func (f *frontier) afford(ctx context.Context, c *Crawl, s *Submission, listed bool, why *crawl.Reason) func() (bool, error) {
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
			*why = TooManyPages
		}
		return ok, err
	}
}

// TooManyPages is why a link is not followed when the crawl has as many pages as it may.
const TooManyPages crawl.Reason = "pages"

// An engineError is that of an engine that could not be asked, so that it is not known what became of
// a page.
type engineError struct{ err error }

func (e *engineError) Error() string { return fmt.Sprintf("the queue: %v", e.err) }
func (e *engineError) Unwrap() error { return e.err }
