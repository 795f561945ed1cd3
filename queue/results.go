package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A Results value reads the results of a queue: those that the engine has, and those in segments.
type Results struct {
	Engine Engine
	// Store opens the store of the segments. It is called if there are segments that must be read.
	Store func(context.Context) (Store, error)

	mu      sync.Mutex // guards indexes
	indexes map[string]*segmentIndex
}

// maxIndexes limits the indexes in memory. One of a full segment needs about 130 KB.
const maxIndexes = 256

// index returns the index of a segment. It reads it once, if there are not too many.
func (r *Results) index(ctx context.Context, store Store, s *segment) (*segmentIndex, error) {
	r.mu.Lock()
	x := r.indexes[s.SHA256]
	r.mu.Unlock()
	if x != nil {
		return x, nil
	}
	x, err := s.index(ctx, store)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.indexes == nil {
		r.indexes = map[string]*segmentIndex{}
	}
	keep(r.indexes, maxIndexes, s.SHA256, x)
	return x, nil
}

// keep adds a value to a cache of at most n values. If it is full, another one goes.
func keep[K comparable, V any](cache map[K]V, n int, key K, value V) {
	for other := range cache {
		if len(cache) < n {
			break
		}
		delete(cache, other)
	}
	cache[key] = value
}

func (r *Results) open(ctx context.Context) (Store, error) {
	if r.Store == nil {
		return nil, &fetch.Error{Code: fetch.ErrRequest,
			Err: errors.New("the store of the results is not known")}
	}
	return r.Store(ctx)
}

// A SegmentError says that results cannot be read from the store, because a content is missing or damaged.
type SegmentError struct {
	First, Last uint64 // sequence numbers of the results
	Err         error  // names the content
}

func (e *SegmentError) Error() string {
	return fmt.Sprintf("results %d to %d cannot be read: %v", e.First, e.Last, e.Err)
}

// Unwrap returns the cause.
func (e *SegmentError) Unwrap() error { return e.Err }

// unreadable returns an error with a *SegmentError.
func unreadable(first, last uint64, err error) error {
	return &fetch.Error{Code: fetch.ErrFile, Err: &SegmentError{first, last, err}}
}

// Segments is the list of the segments of a queue. That of a crawl may have a set of its pages.
type Segments struct {
	Version int       `json:"v"`
	List    []segment `json:"segments"`
	Pages   *pageSet  `json:"pages,omitempty"`
}

// ParseSegments parses a list that Engine.Segments returned.
func ParseSegments(data []byte) (*Segments, error) {
	l := &Segments{Version: segmentVersion}
	if len(data) == 0 {
		return l, nil
	}
	err := json.Unmarshal(data, l)
	if err == nil && l.Version != segmentVersion {
		err = fmt.Errorf("version %d is not supported", l.Version)
	}
	if err != nil {
		err = &fetch.Error{Code: fetch.ErrServer, Err: fmt.Errorf("the list of segments: %w", err)}
	}
	return l, err
}

func loadSegments(ctx context.Context, e Engine) (*Segments, uint64, error) {
	data, revision, err := e.Segments(ctx)
	if err != nil {
		return nil, 0, err
	}
	l, err := ParseSegments(data)
	return l, revision, err
}

// Covers reports whether a segment has the result that the engine yields.
func (l *Segments) Covers(m *Stored) bool {
	return slices.ContainsFunc(l.List, func(s segment) bool {
		return s.First <= m.Sequence && m.Sequence <= s.Last && !m.Time.After(s.To)
	})
}

// Count returns the number of results in segments that the engine does not have. Its first result has that
// sequence number and was stored at that time; both are zero if it has none.
func (l *Segments) Count(first uint64, at time.Time) (n uint64) {
	for _, s := range l.List {
		n += s.Results
		if first > 0 && first <= s.Last && !at.After(s.To) {
			n -= min(s.Results, s.Last-max(s.First, first)+1)
		}
	}
	return n
}

const (
	// MinAge is the least age of results that may be moved to segments.
	MinAge = 2 * time.Hour
	// maxSkew is by how much clocks of submitters, workers and servers may differ.
	maxSkew = 10 * time.Minute
)

// Get returns the result of a submission, or ErrNotFound. The result must be newer than since. A result in a
// damaged content is lost, so the error is ErrNotFound, too. A missing content may be in another store, so
// the error is a *SegmentError.
func (r *Results) Get(ctx context.Context, id string, since time.Time) ([]byte, error) {
	data, err := r.Engine.Result(ctx, id)
	if !errors.Is(err, ErrNotFound) || time.Since(since) < MinAge-maxSkew {
		return data, err
	}
	// The list is read after the engine, so that it has the segments of results that were removed from it.
	l, _, err := loadSegments(ctx, r.Engine)
	if err != nil {
		return nil, err
	}
	key := keyOf(id)
	for _, s := range slices.Backward(l.List) {
		if s.To.Before(since.Add(-maxSkew)) {
			continue
		}
		store, err := r.open(ctx)
		if err != nil {
			return nil, err
		}
		data, err := r.find(ctx, store, &s, key, id)
		switch {
		case data != nil:
			return data, nil
		case errors.Is(err, errDamaged) && fetch.CodeOf(err) == fetch.ErrNotFound:
			return nil, unreadable(s.First, s.Last, err)
		case err != nil && !errors.Is(err, errDamaged):
			return nil, err
		}
	}
	return nil, ErrNotFound
}

func (r *Results) find(ctx context.Context, store Store, s *segment, key uint64,
	id string) (data []byte, err error) {
	x, err := r.index(ctx, store, s)
	if err != nil {
		return nil, err
	}
	blocks, err := x.find(ctx, store, key)
	for _, n := range blocks {
		if err == nil && data == nil {
			err = x.Blocks[n].lines(ctx, store, func(m Stored) bool {
				if m.ID == id {
					data = m.Data
				}
				return data == nil
			})
		}
	}
	return data, err
}

// All yields the results in order, as Admin.Results does. After a *SegmentError it continues with the next
// results.
func (r *Results) All(ctx context.Context, after uint64, follow bool) iter.Seq2[Stored, error] {
	return r.from(ctx, after, follow, r.Engine.(Admin).Results(ctx, after, follow))
}

// With is All for a source of the results that the engine has.
func (r *Results) With(ctx context.Context, results iter.Seq2[Stored, error]) iter.Seq2[Stored, error] {
	return r.from(ctx, 0, false, results)
}

func (r *Results) from(ctx context.Context, after uint64, follow bool,
	source iter.Seq2[Stored, error]) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		var l *Segments
		read := map[string]bool{} // the segments that were read, by digest
		// readNew reads the segments that were not read, without results up to that one. It reports whether
		// to go on.
		readNew := func(after uint64) bool {
			var err error
			if l, _, err = loadSegments(ctx, r.Engine); err != nil {
				if !follow || ctx.Err() == nil {
					yield(Stored{}, err)
				}
				return false
			}
			for _, s := range l.List {
				if read[s.SHA256] || s.Last <= after {
					continue
				}
				read[s.SHA256] = true
				if !r.each(ctx, &s, after, yield) {
					return false
				}
			}
			return true
		}
		if !readNew(after) {
			return
		}
		last := after // sequence number in the engine
		for m, err := range source {
			if err != nil {
				yield(m, err)
				return
			}
			// Results that are missing may have been moved since the list was read.
			if m.Sequence != last+1 && !readNew(last) {
				return
			}
			last = m.Sequence
			if !l.Covers(&m) && !yield(m, nil) {
				return
			}
		}
		readNew(last)
	}
}

// each yields the results of a segment after a sequence number, and reports whether to go on.
func (r *Results) each(ctx context.Context, s *segment, after uint64, yield func(Stored, error) bool) bool {
	failed := func(first, last uint64, err error) bool {
		if errors.Is(err, errDamaged) {
			return yield(Stored{}, unreadable(first, last, err))
		}
		yield(Stored{}, err)
		return false
	}
	store, err := r.open(ctx)
	if err != nil {
		return failed(s.First, s.Last, err)
	}
	x, err := s.index(ctx, store)
	if err != nil {
		return failed(s.First, s.Last, err)
	}
	for i, b := range x.Blocks {
		last := s.Last
		if i+1 < len(x.Blocks) {
			last = x.Blocks[i+1].First - 1
		}
		if last <= after {
			continue
		}
		more := true
		err := b.lines(ctx, store, func(m Stored) bool {
			more = m.Sequence <= after || yield(m, nil)
			return more
		})
		if !more || err != nil && !failed(b.First, last, err) {
			return false
		}
	}
	return true
}

// EachContent calls use with the digest of each content of the segments and of the set of pages.
func (r *Results) EachContent(ctx context.Context, use func(sha256 string)) error {
	l, _, err := loadSegments(ctx, r.Engine)
	if err != nil || len(l.List) == 0 && l.Pages == nil {
		return err
	}
	store, err := r.open(ctx)
	if err != nil {
		return err
	}
	if s := l.Pages; s != nil {
		x, err := s.index(ctx, store)
		if err != nil {
			return pagesError(err)
		}
		use(s.SHA256)
		for _, p := range x.Shards {
			use(p.SHA256)
		}
	}
	for _, s := range l.List {
		x, err := s.index(ctx, store)
		if err != nil {
			return unreadable(s.First, s.Last, err)
		}
		use(s.SHA256)
		for _, p := range x.Shards {
			use(p.SHA256)
		}
		for _, b := range x.Blocks {
			use(b.SHA256)
		}
	}
	return nil
}
