package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
)

// A Compaction moves results, and the known pages of a crawl, from the engine to the store.
type Compaction struct {
	// Age is the least age of the results and pages that are moved; MinAge or more.
	Age time.Duration
	// Least is the least number of results of a segment, and of pages that are moved. Most is the greatest
	// number of results of a segment. The defaults are 10,000 and 1,048,576.
	Least, Most uint64
	// Settle is how long the engine keeps results and pages that are in the store. In that time it must
	// have written the list of segments to disk. Pages are kept for four seconds or more.
	Settle time.Duration
	// Gap, if not nil, is called once, before a result is moved whose sequence number does not follow that of
	// the result before it. After an error, nothing is moved.
	Gap func(ctx context.Context) error
	// Listed, if not nil, is called before the wait for Settle.
	Listed func(*Compacted)
	DryRun bool // only count

	mostPages int // the greatest number of pages that are moved at once, if not 0
}

// Compacted is what a Compaction has done, or would do.
type Compacted struct {
	Results  uint64 // that were moved to segments
	Segments int    // new ones
	Bytes    int64  // of the new segments
	Removed  uint64 // results that were removed from the engine, also those that an earlier call has moved
	// Pages is the number of pages that were moved, and PagesRemoved as Removed.
	Pages, PagesRemoved uint64
}

// Run moves results. Results are removed from the engine only after the store has all contents of their
// segments, these were read back, and the engine has had the list for Settle. So after a failure at any step,
// results are in the engine, in a segment, or in both, and readers yield each once. If two calls run at the
// same time, one of them fails with ErrConflict. Run always returns a Compacted value, also with an error.
func (o *Compaction) Run(ctx context.Context, e Admin, s Store) (done *Compacted, err error) {
	c := &compactor{Compaction: *o, engine: e, store: s, done: &Compacted{}}
	c.Least, c.mostPages = cmp.Or(c.Least, 10_000), cmp.Or(c.mostPages, defaultMostPages)
	if c.Most == 0 || c.Most > maxSegment {
		c.Most = maxSegment
	}
	if c.Age < MinAge {
		return c.done, &fetch.Error{Code: fetch.ErrRequest,
			Err: fmt.Errorf("results may be moved after %v or more, because a worker may still look for "+
				"younger ones in the queue", MinAge)}
	}
	if c.list, c.revision, err = loadSegments(ctx, e); err == nil {
		err = c.move(ctx)
	}
	if err == nil && e.Pages() != nil {
		err = c.movePages(ctx)
	}
	if errors.Is(err, ErrConflict) {
		err = &fetch.Error{Code: fetch.ErrBusy,
			Err: fmt.Errorf("the list of segments was changed by another program: %w", err)}
	}
	if err != nil || c.DryRun {
		return c.done, err
	}
	if o.Listed != nil {
		o.Listed(c.done)
	}
	if err = repeat(ctx, c.removeSettled); err == nil {
		err = repeat(ctx, c.removePages)
	}
	return c.done, err
}

type compactor struct {
	Compaction
	engine   Admin
	store    Store
	list     *Segments
	revision uint64
	done     *Compacted
}

// move moves the results that are old enough, and lists their segments. It leaves the last result of the
// engine, so that the engine cannot forget its sequence number.
func (c *compactor) move(ctx context.Context) error {
	before := time.Now().Add(-c.Age)
	w := newSegmentWriter(c.store, c.Least)
	var waiting *Stored
	last := uint64(0)
	for m, err := range c.engine.Results(ctx, 0, false) {
		if err != nil {
			return err
		}
		if waiting != nil {
			if err := c.add(ctx, &w, waiting); err != nil {
				return err
			}
			waiting = nil
		}
		if m.Time.After(before) {
			break
		}
		if last != 0 && m.Sequence != last+1 && c.Gap != nil {
			if err := c.Gap(ctx); err != nil {
				return err
			}
			c.Gap = nil
		}
		if last = m.Sequence; !c.list.Covers(&m) {
			waiting = &m
		}
	}
	if w.segment.Results < c.Least {
		return nil
	}
	return c.end(ctx, w)
}

func (c *compactor) add(ctx context.Context, w **segmentWriter, m *Stored) error {
	if c.DryRun {
		(*w).segment.Results++
	} else if err := (*w).add(ctx, m); err != nil {
		return err
	}
	if (*w).segment.Results < c.Most {
		return nil
	}
	err := c.end(ctx, *w)
	*w = newSegmentWriter(c.store, c.Least)
	return err
}

// end writes the rest of a segment and lists it.
func (c *compactor) end(ctx context.Context, w *segmentWriter) error {
	if !c.DryRun {
		s, err := w.end(ctx)
		if err != nil {
			return err
		}
		s.Listed = time.Now().UTC()
		c.list.List = append(c.list.List, *s)
		if err := c.publish(ctx); err != nil {
			return err
		}
	}
	c.done.Results += w.segment.Results
	c.done.Bytes += w.segment.Bytes
	c.done.Segments++
	return nil
}

// publish replaces the list of segments in the engine.
func (c *compactor) publish(ctx context.Context) error {
	data, err := json.Marshal(c.list)
	if err != nil {
		return err
	}
	if len(data) > c.engine.Limits().Message {
		return &fetch.Error{Code: fetch.ErrTooLarge,
			Err: fmt.Errorf("the list of %d segments has %d bytes, and a message at most %d",
				len(c.list.List), len(data), c.engine.Limits().Message)}
	}
	c.revision, err = c.engine.SetSegments(ctx, data, c.revision)
	return err
}

// repeat calls do again after the time that do returns, until that is 0.
func repeat(ctx context.Context, do func(context.Context) (time.Duration, error)) error {
	for {
		d, err := do(ctx)
		if err != nil || d <= 0 {
			return err
		}
		if err := retry.Sleep(ctx, d); err != nil {
			return err
		}
	}
}

// removeSettled removes what may be removed now, and returns the time until there is more. It removes all at
// once, because a NATS server also needs time for each result that remains.
func (c *compactor) removeSettled(ctx context.Context) (wait time.Duration, err error) {
	l, _, err := loadSegments(ctx, c.engine)
	if err != nil {
		return 0, err
	}
	last, n := uint64(0), uint64(0)
	for _, s := range l.List {
		var there bool
		if there, err = c.isThere(ctx, &s); err == nil && !there {
			continue
		}
		if wait = time.Until(s.Listed.Add(c.Settle)); err == nil && wait <= 0 {
			err = c.verify(ctx, &s)
		}
		if err != nil || wait > 0 { // the later ones must wait, too
			break
		}
		last, n = s.Last, n+s.Results
	}
	if n > 0 {
		if problem := c.engine.RemoveResults(ctx, last); problem != nil {
			return 0, errors.Join(err, problem)
		}
		c.done.Removed += n
	}
	return wait, err
}

// isThere reports whether the engine has results of a segment. Then its earlier results are in segments,
// too. The results of an engine that has lost all its data have the same sequence numbers and are not those
// of the segment.
func (c *compactor) isThere(ctx context.Context, s *segment) (bool, error) {
	one := Segments{List: []segment{*s}}
	for m, err := range c.engine.Results(ctx, s.First-1, false) {
		return err == nil && one.Covers(&m), err
	}
	return false, nil
}

// verify reads all contents of a segment.
func (c *compactor) verify(ctx context.Context, s *segment) error {
	x, err := s.index(ctx, c.store)
	for i := 0; err == nil && i < len(x.Shards); i++ {
		_, err = x.Shards[i].read(ctx, c.store)
	}
	for i := 0; err == nil && i < len(x.Blocks); i++ {
		_, err = x.Blocks[i].read(ctx, c.store)
	}
	if errors.Is(err, errDamaged) {
		err = unreadable(s.First, s.Last, err)
	}
	return err
}
