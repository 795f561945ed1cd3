package queuetest

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
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
		l, err := queue.ParseSegments(c.model.segments)
		if err != nil {
			return err
		}
		var first queue.Stored
		if len(c.model.results.all) > 0 {
			first = c.model.results.all[0]
		}
		s.Results = uint64(len(c.model.results.all)) + l.Count(first.Sequence, first.Time)
		s.Dead = uint64(len(c.model.dead.all))
		return nil
	})
	return s, err
}

// SetState implements queue.Admin.
func (c *Conn) SetState(ctx context.Context, s queue.State) error {
	err := c.do(ctx, "put", "state", func() error {
		c.model.state = s
		return nil
	})
	if err == nil {
		c.setState(s)
	}
	return err
}

// HostLimits implements queue.Engine.
func (c *Conn) HostLimits(ctx context.Context) (text []byte, err error) {
	err = c.do(ctx, "get", "limits", func() error {
		text = c.model.limits
		return nil
	})
	return text, err
}

// SetHostLimits implements queue.Admin.
func (c *Conn) SetHostLimits(ctx context.Context, text []byte) error {
	return c.do(ctx, "put", "limits", func() error {
		if len(text) > c.model.opts.Message {
			return &fetch.Error{Code: fetch.ErrTooLarge}
		}
		c.model.limits = text
		return nil
	})
}

// Segments implements queue.Engine.
func (c *Conn) Segments(ctx context.Context) (list []byte, revision uint64, err error) {
	err = c.do(ctx, "get", "segments", func() error {
		list, revision = c.model.segments, c.model.segmentsRevision
		return nil
	})
	return list, revision, err
}

// SetSegments implements queue.Admin.
func (c *Conn) SetSegments(ctx context.Context, list []byte, revision uint64) (uint64, error) {
	err := c.do(ctx, "put", "segments", func() error {
		if revision != c.model.segmentsRevision {
			return queue.ErrConflict
		}
		revision++
		c.model.segments, c.model.segmentsRevision = list, revision
		return nil
	})
	return revision, err
}

// RemoveResults implements queue.Admin.
func (c *Conn) RemoveResults(ctx context.Context, last uint64) error {
	return c.do(ctx, "delete", "old results", func() error {
		l := &c.model.results
		l.all = slices.DeleteFunc(slices.Clone(l.all), func(s queue.Stored) bool {
			if s.Sequence <= last {
				delete(l.ids, s.ID)
			}
			return s.Sequence <= last
		})
		return nil
	})
}

// PageValues implements queue.Admin.
func (c *Conn) PageValues(ctx context.Context) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		var list []queue.Stored
		err := c.do(ctx, "get", "pages", func() error {
			for key, v := range c.model.pages {
				list = append(list, queue.Stored{Sequence: v.revision, ID: key, Data: v.data, Time: v.written})
			}
			return nil
		})
		if err != nil {
			yield(queue.Stored{}, err)
			return
		}
		slices.SortFunc(list, func(a, b queue.Stored) int { return cmp.Compare(a.Sequence, b.Sequence) })
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// RemovePages implements queue.Admin.
func (c *Conn) RemovePages(ctx context.Context, last uint64) error {
	return c.do(ctx, "delete", "old pages", func() error {
		maps.DeleteFunc(c.model.pages, func(_ string, v *value) bool { return v.revision <= last })
		return nil
	})
}

// PutWorker implements queue.Engine. Faults get the key "worker", because IDs are random.
func (c *Conn) PutWorker(ctx context.Context, id string, data []byte) error {
	return c.do(ctx, "put", "worker", func() error {
		if data == nil {
			delete(c.model.leases, workerPrefix+id)
			return nil
		}
		(&values{conn: c, m: c.model.leases}).set(workerPrefix+id, data)
		return nil
	})
}

const workerPrefix = "worker."

// Workers implements queue.Admin.
func (c *Conn) Workers(ctx context.Context) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		var list []queue.Stored
		err := c.do(ctx, "get", "workers", func() error {
			leases := &values{c, c.model.leases, c.model.opts.LeaseTTL}
			for key := range leases.m {
				id, ok := strings.CutPrefix(key, workerPrefix)
				if v := leases.get(key); ok && v != nil {
					list = append(list, queue.Stored{Sequence: v.revision, ID: id, Data: v.data})
				}
			}
			return nil
		})
		if err != nil {
			yield(queue.Stored{}, err)
			return
		}
		for _, m := range list {
			if !yield(m, nil) {
				return
			}
		}
	}
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
	var list []message
	for _, m := range c.model.jobs[p] {
		list = append(list, *m)
	}
	c.model.mu.Unlock()
	return func(yield func(queue.Stored, error) bool) {
		for _, m := range list {
			if !yield(queue.Stored{Sequence: m.seq, Data: m.data, Taken: m.deliveries > 0}, nil) {
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

// DropJob implements queue.Admin.
func (c *Conn) DropJob(ctx context.Context, p queue.Priority, sequence uint64) error {
	return c.do(ctx, "delete", "job", func() error {
		list := c.model.jobs[p]
		i := slices.IndexFunc(list, func(m *message) bool { return m.seq == sequence })
		if i < 0 {
			return queue.ErrNotFound
		}
		delete(c.model.keys, list[i].key)
		c.model.jobs[p] = slices.Concat(list[:i], list[i+1:])
		return nil
	})
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
