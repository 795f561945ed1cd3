package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urlget/urlget/fetch"
)

// defaultMostPages limits the pages that are moved at once. They are in memory, with 16 bytes each.
const defaultMostPages = 1 << 24

// movePages moves the marks that are old enough to a new set, with those of the set before it. It leaves the
// last value of the engine, as move does.
func (c *compactor) movePages(ctx context.Context) error {
	for {
		added, last, err := c.oldPages(ctx)
		if err != nil || uint64(len(added)) < max(c.Least, 1) {
			return err
		}
		c.done.Pages += uint64(len(added))
		if c.DryRun {
			return nil
		}
		s, err := c.list.Pages.merge(ctx, c.store, added)
		if errors.Is(err, errDamaged) {
			s, last, err = c.rebuildPages(ctx)
		}
		if err != nil {
			return err
		}
		s.Last, s.To, s.Listed = last.Sequence, last.Time, time.Now().UTC()
		c.list.Pages = s
		if err := c.publish(ctx); err != nil {
			return err
		}
		c.done.Bytes += s.Bytes
	}
}

// oldPages returns the marks that are old enough and not in the set, in order, and the last of their values.
func (c *compactor) oldPages(ctx context.Context) (list []entry, last Stored, err error) {
	before := time.Now().Add(-c.Age)
	var waiting *Stored
	for v, err := range c.engine.PageValues(ctx) {
		if err != nil {
			return nil, last, err
		}
		if waiting != nil {
			if e, ok := storedEntry(waiting); ok {
				list = append(list, e)
			}
			last, waiting = *waiting, nil
		}
		if v.Time.After(before) || len(list) >= c.mostPages {
			break
		}
		if c.list.Pages == nil || !c.list.Pages.has(&v) {
			waiting = &v
		}
	}
	slices.SortFunc(list, compareEntries)
	return list, last, nil
}

// rebuildPages stores a set in place of the one that is damaged. Its pages are known by their results, or by
// values that the engine still has. A page with neither is visited again if there is a link to it. The last
// of these values is returned, too.
func (c *compactor) rebuildPages(ctx context.Context) (s *pageSet, last Stored, err error) {
	r := &Results{Engine: c.engine, Store: func(context.Context) (Store, error) { return c.store, nil }}
	var known []entry
	for m, err := range r.All(ctx, 0, false) {
		var lost *SegmentError
		if errors.As(err, &lost) && fetch.CodeOf(lost.Err) != fetch.ErrNotFound {
			continue // damaged; a missing content may be in another store
		}
		if err != nil {
			return nil, last, err
		}
		if e, ok := entryOf(m.ID, mark{Followed: 1}); ok {
			known = append(known, e)
		}
	}
	slices.SortFunc(known, compareEntries)
	known = slices.CompactFunc(known, func(a, b entry) bool { return compareEntries(a, b) == 0 })
	c.list.Pages = nil
	added, last, err := c.oldPages(ctx)
	if err == nil {
		s, err = s.merge(ctx, c.store, known)
	}
	if err == nil {
		s, err = s.merge(ctx, c.store, added)
	}
	return s, last, err
}

// removePages removes the marks in the listed set from the engine, if they may be removed now, or returns the
// time until then. What cannot be in a set is written again, so that it is newer.
func (c *compactor) removePages(ctx context.Context) (wait time.Duration, err error) {
	l, _, err := loadSegments(ctx, c.engine)
	if err != nil || l.Pages == nil {
		return 0, err
	}
	for {
		moved, others, last, err := c.movedPages(ctx, l.Pages)
		if err != nil || len(moved) == 0 {
			return 0, err
		}
		if wait = time.Until(l.Pages.Listed.Add(max(c.Settle, 2*pageSetTime))); wait > 0 {
			return wait, nil
		}
		if err := l.Pages.verify(ctx, c.store, moved); err != nil {
			return 0, pagesError(err)
		}
		for _, v := range others {
			_, err := c.engine.Pages().Update(ctx, v.ID, v.Data, v.Sequence)
			if err != nil && !errors.Is(err, ErrConflict) { // another program has written it
				return 0, err
			}
		}
		if err := c.engine.RemovePages(ctx, last); err != nil {
			return 0, err
		}
		if c.done.PagesRemoved += uint64(len(moved)); len(moved) < c.mostPages {
			return 0, nil
		}
	}
}

// movedPages returns the marks in a set that the engine still has, in order, at most mostPages of them; the
// other values that the engine stored before the last of these; and the sequence number of that.
func (c *compactor) movedPages(
	ctx context.Context, s *pageSet,
) (moved []entry, others []Stored, last uint64, err error) {
	for v, err := range c.engine.PageValues(ctx) {
		if err != nil {
			return nil, nil, 0, err
		}
		if !s.has(&v) || len(moved) == c.mostPages {
			break
		}
		last = v.Sequence
		if e, ok := storedEntry(&v); ok {
			moved = append(moved, e)
		} else {
			others = append(others, v)
		}
	}
	slices.SortFunc(moved, compareEntries)
	return moved, others, last, nil
}

// verify reads all contents of the set, and checks that it has the entries, which are in order.
func (s *pageSet) verify(ctx context.Context, store Store, want []entry) error {
	for e, err := range s.all(ctx, store) {
		if err != nil {
			return err
		}
		if len(want) > 0 && e == want[0] {
			want = want[1:]
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("content %s: %w: %d pages are missing", s.SHA256, errDamaged, len(want))
	}
	return nil
}
