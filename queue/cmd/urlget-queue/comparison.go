package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// A comparison compares submitted jobs with a queue and, if there is one, with a store.
type comparison struct {
	queued, finished jobSet
	store            queue.Store       // nil if contents are not checked
	sizes            map[string]int64  // of the contents in the store, by digest; nil if it cannot list them
	verify           bool              // also read the contents
	verified         map[string]string // damage of those that were read
	results          uint64            // that the engine has
}

// compare reads a queue: one of its copies or, if they differ, that of the leader. If e is nil, there is no
// queue, and all jobs are lost. It calls unreadable for results in the store that cannot be read.
func compare(
	ctx context.Context, e *jetstream.Engine, contents *storeFlags, verify, differ bool,
	unreadable func(*queue.SegmentError),
) (c *comparison, done func(), err error) {
	c = &comparison{queued: newJobSet(), finished: newJobSet(), verify: verify, verified: map[string]string{}}
	if e == nil {
		return c, func() {}, nil
	}
	// Jobs are read before the results, because a job that ends in between has a result.
	if c.queued, err = queuedJobs(ctx, e); err != nil {
		return nil, nil, err
	}
	results := e.Results(ctx, 0, false)
	if differ {
		results = e.LeaderResults(ctx)
	}
	r, done := contents.results(e)
	defer func() {
		if err != nil {
			done()
		}
	}()
	all := readable(r.With(ctx, counted(results, &c.results)), unreadable)
	if c.finished, err = finishedJobs(all); err != nil || contents.location == "" {
		return c, done, err
	}
	if c.store, err = r.Store(ctx); err == nil {
		err = c.list(ctx)
	}
	return c, done, err
}

// counted adds the number of results to n.
func counted(results iter.Seq2[queue.Stored, error], n *uint64) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		for m, err := range results {
			if err == nil {
				*n++
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// readable yields the results that can be read, and calls unreadable for the others.
func readable(
	results iter.Seq2[queue.Stored, error], unreadable func(*queue.SegmentError),
) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		for m, err := range results {
			var lost *queue.SegmentError
			if errors.As(err, &lost) {
				unreadable(lost)
			} else if !yield(m, err) {
				return
			}
		}
	}
}

// list reads the sizes of the contents that results name.
func (c *comparison) list(ctx context.Context) error {
	lister, ok := c.store.(queue.Lister)
	if !ok {
		return nil
	}
	c.sizes = map[string]int64{}
	for content, err := range lister.List(ctx) {
		if err != nil {
			return fileError(err)
		}
		if c.finished.sums[content.SHA256] {
			c.sizes[content.SHA256] = content.Size
		}
	}
	return nil
}

// check sets Lost, Damage or Results of a job if something is wrong with it, and reports whether it is
// unfinished. The IDs are those of its receipts. Without them, the number of its submissions is not known.
func (c *comparison) check(ctx context.Context, j *audited, ids []string) (unfinished bool) {
	result, ok := c.finished.find(j.Key, ids)
	switch {
	case ok:
		if c.store != nil && result.sum != "" {
			if j.Damage = c.damage(ctx, result); j.Damage != "" {
				j.Lost = "content"
				return false
			}
		}
		if n := c.finished.count[j.Key]; len(ids) > 0 && n > len(ids) {
			j.Results = n
		}
	case c.queued.has(j.Key, ids):
		return true
	default:
		j.Lost = "job"
	}
	return false
}

// damage returns what is wrong with the content of a result, or "".
func (c *comparison) damage(ctx context.Context, r finishedJob) string {
	if c.sizes != nil {
		size, there := c.sizes[r.sum]
		switch {
		case !there:
			return "missing"
		case r.size >= 0 && size != r.size:
			return "size"
		case !c.verify:
			return ""
		}
	}
	what, known := c.verified[r.sum]
	if !known {
		what = readContent(ctx, c.store, r.sum)
		c.verified[r.sum] = what
	}
	return what
}

func readContent(ctx context.Context, s queue.Store, sum string) (damage string) {
	r, err := s.Get(ctx, sum)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		r.Close()
	}
	switch code := fetch.CodeOf(err); {
	case err == nil:
		return ""
	case code == fetch.ErrNotFound:
		return "missing"
	case code == fetch.ErrChecksum:
		return "digest"
	}
	return "unreadable"
}

// A finishedJob has the digest and the size of the content of a job: "" if it has none, and -1 if the
// size is not known. A job that is not finished has neither.
type finishedJob struct {
	sum  string
	size int64
}

// A jobSet has jobs by the ID of a submission and by key.
type jobSet struct {
	ids, keys map[string]finishedJob
	count     map[string]int  // by key
	sums      map[string]bool // digests of all contents
}

func newJobSet() jobSet {
	return jobSet{map[string]finishedJob{}, map[string]finishedJob{}, map[string]int{}, map[string]bool{}}
}

func (s jobSet) has(key string, ids []string) bool {
	_, ok := s.find(key, ids)
	return ok
}

func (s jobSet) find(key string, ids []string) (f finishedJob, ok bool) {
	for _, id := range ids {
		if f, ok = s.ids[id]; ok {
			return f, true
		}
	}
	if len(ids) == 0 {
		f, ok = s.keys[key]
	}
	return f, ok
}

func queuedJobs(ctx context.Context, e queue.Admin) (jobSet, error) {
	s := newJobSet()
	for _, p := range queue.Priorities {
		for m, err := range e.Jobs(ctx, p) {
			if err != nil {
				return s, err
			}
			if id, j, err := m.Job(); err == nil { // others become dead letters
				s.ids[id], s.keys[queue.Key(j)] = finishedJob{}, finishedJob{}
			}
		}
	}
	return s, nil
}

func finishedJobs(results iter.Seq2[queue.Stored, error]) (jobSet, error) {
	s := newJobSet()
	err := eachEvent(results, func(id string, ev *queue.Event) {
		f := finishedJob{ev.SHA256, -1}
		if ev.Bytes != nil {
			f.size = *ev.Bytes
		}
		s.ids[id], s.keys[ev.Key] = f, f
		s.count[ev.Key]++
		s.sums[ev.SHA256] = true
	})
	return s, err
}

// eachEvent calls f with the results that workers have written.
func eachEvent(results iter.Seq2[queue.Stored, error], f func(id string, ev *queue.Event)) error {
	for r, err := range results {
		if err != nil {
			return err
		}
		var ev queue.Event
		if json.Unmarshal(r.Data, &ev) == nil {
			f(r.ID, &ev)
		}
	}
	return nil
}
