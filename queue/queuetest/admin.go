package queuetest

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/urlget/urlget/queue"
)

// Status implements queue.Admin.
func (c *Conn) Status(ctx context.Context) (s *queue.Status, err error) {
	s = &queue.Status{Waiting: map[queue.Priority]uint64{}, Taken: map[queue.Priority]uint64{}}
	err = c.do(ctx, "get", "status", func() error {
		now := time.Now()
		for p, list := range c.model.jobs {
			for _, msg := range list {
				s.Bytes += uint64(len(msg.data))
				if msg.deliveries == 0 {
					s.Waiting[p]++
				} else if msg.ready.After(now) || msg.deliveries > 0 {
					s.Taken[p]++
				}
			}
		}
		s.Results, s.Dead = uint64(len(c.model.results.all)), uint64(len(c.model.dead.all))
		return nil
	})
	return s, err
}

// Results implements queue.Admin.
func (c *Conn) Results(ctx context.Context, after uint64, follow bool) iter.Seq2[queue.Stored, error] {
	return c.list(ctx, &c.model.results, after, follow)
}

// Dead implements queue.Admin.
func (c *Conn) Dead(ctx context.Context, after uint64) iter.Seq2[queue.Stored, error] {
	return c.list(ctx, &c.model.dead, after, false)
}

// Jobs implements queue.Admin.
func (c *Conn) Jobs(_ context.Context, p queue.Priority) iter.Seq2[queue.Stored, error] {
	c.model.mu.Lock()
	list := slices.Clone(c.model.jobs[p])
	c.model.mu.Unlock()
	return func(yield func(queue.Stored, error) bool) {
		for _, m := range list {
			if !yield(queue.Stored{Sequence: m.seq, Data: m.data}, nil) {
				return
			}
		}
	}
}

func (c *Conn) list(ctx context.Context, l *log, after uint64, follow bool) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		for {
			c.model.mu.Lock()
			all, changed := slices.Clone(l.all), c.model.changed
			c.model.mu.Unlock()
			for _, s := range all {
				if s.Sequence > after {
					after = s.Sequence
					if !yield(s, nil) {
						return
					}
				}
			}
			if !follow {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// DropDead implements queue.Admin.
func (c *Conn) DropDead(ctx context.Context, sequence uint64) error {
	return c.do(ctx, "delete", "dead", func() error {
		l := &c.model.dead
		i := slices.IndexFunc(l.all, func(s queue.Stored) bool { return s.Sequence == sequence })
		if i < 0 {
			return queue.ErrNotFound
		}
		delete(l.ids, l.all[i].ID)
		l.all = slices.Delete(l.all, i, i+1)
		return nil
	})
}

// PurgeJobs implements queue.Admin.
func (c *Conn) PurgeJobs(ctx context.Context) (n uint64, err error) {
	err = c.do(ctx, "delete", "jobs", func() error {
		for p, list := range c.model.jobs {
			n += uint64(len(list))
			delete(c.model.jobs, p)
		}
		clear(c.model.keys)
		return nil
	})
	return n, err
}

// PurgeResults implements queue.Admin.
func (c *Conn) PurgeResults(ctx context.Context) (uint64, error) {
	return c.purge(ctx, "results", &c.model.results)
}

// PurgeDead implements queue.Admin.
func (c *Conn) PurgeDead(ctx context.Context) (uint64, error) {
	return c.purge(ctx, "dead", &c.model.dead)
}

func (c *Conn) purge(ctx context.Context, key string, l *log) (n uint64, err error) {
	err = c.do(ctx, "delete", key, func() error {
		n = uint64(len(l.all))
		*l = log{ids: map[string]bool{}}
		return nil
	})
	return n, err
}

// Close implements io.Closer.
func (c *Conn) Close() error { return nil }
