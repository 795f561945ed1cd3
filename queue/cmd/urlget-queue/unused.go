package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

type unusedFlags struct {
	list, remove bool
	older        time.Duration
}

// errBusy is the error of queue content --delete while jobs run. A worker may be about to name a
// content that was stored before.
var errBusy = &fetch.Error{Code: fetch.ErrRefused,
	Err: errors.New("jobs are unfinished, and may need the contents; " +
		"use \"urlget queue drain\" and wait until the queue is empty")}

func (a *app) unused(ctx context.Context, e *jetstream.Engine, s queue.Store, u *unusedFlags) error {
	if !u.remove {
		return a.listUnused(ctx, e, s, u)
	}
	return withSegments(ctx, e, func(ctx context.Context) error { return a.listUnused(ctx, e, s, u) })
}

func (a *app) listUnused(ctx context.Context, e *jetstream.Engine, s queue.Store, u *unusedFlags) error {
	l, ok := s.(queue.Lister)
	if !ok {
		return fileError(errors.ErrUnsupported)
	}
	before := time.Now().Add(-u.older)
	used, last := map[string]bool{}, map[string]uint64{} // by digest; by queue
	readResults := func(name string, e *jetstream.Engine) error {
		if u.remove {
			if err := checkIdle(ctx, e); err != nil {
				return err
			}
		}
		r := &queue.Results{Engine: e, Store: func(context.Context) (queue.Store, error) { return s, nil }}
		if err := r.EachContent(ctx, func(sum string) { used[sum] = true }); err != nil {
			return err
		}
		newer := func(yield func(queue.Stored, error) bool) {
			for stored, err := range r.All(ctx, last[name], false) {
				if last[name] = max(last[name], stored.Sequence); !yield(stored, err) {
					return
				}
			}
		}
		return eachEvent(newer, func(_ string, ev *queue.Event) { used[ev.SHA256] = true })
	}
	if err := a.eachQueue(ctx, e, readResults); err != nil {
		return err
	}
	var unused []queue.Content
	for c, err := range l.List(ctx) {
		if err != nil {
			return fileError(err)
		}
		if !used[c.SHA256] && !c.Time.After(before) {
			unused = append(unused, c)
		}
	}
	if u.remove { // jobs may have begun, and ended, since the results were read
		if err := a.eachQueue(ctx, e, readResults); err != nil {
			return err
		}
	}
	n, bytes := 0, int64(0)
	for _, c := range unused {
		if used[c.SHA256] {
			continue
		}
		if u.remove {
			if err := l.Remove(ctx, c.SHA256); err != nil {
				return fileError(err)
			}
		}
		n++
		bytes += c.Size
		stored := c.Time.UTC().Format(time.RFC3339)
		if _, err := fmt.Fprintf(a.out, "%s %d %s\n", c.SHA256, c.Size, stored); err != nil {
			return fileError(err)
		}
	}
	word := "unused"
	if u.remove {
		word = "deleted"
	}
	fmt.Fprintf(a.err, "%s bodies: %d, %d bytes\n", word, n, bytes)
	return nil
}

// eachQueue calls do with the queue and each of its crawls, by name; "" is the queue.
func (a *app) eachQueue(
	ctx context.Context, e *jetstream.Engine, do func(crawl string, e *jetstream.Engine) error,
) error {
	names, err := e.Crawls(ctx)
	if err != nil {
		return err
	}
	if a.queueFlags.crawl == "" {
		if err := do("", e); err != nil {
			return err
		}
	} else {
		names = append(names, "") // the queue itself
	}
	for _, name := range names {
		flags := a.queueFlags
		flags.crawl, flags.mustExist = name, true
		crawl, done, err := flags.open(ctx, nil)
		if name == "" && errors.As(err, new(*jetstream.NoQueueError)) {
			continue
		}
		if err != nil {
			return err
		}
		err = do(name, crawl)
		done()
		if err != nil {
			return err
		}
	}
	return nil
}

// checkIdle returns an error if a worker may be executing a job. Jobs that a worker has returned
// still count as taken.
func checkIdle(ctx context.Context, e queue.Admin) error {
	s, state, err := statusOf(ctx, e)
	if err != nil {
		return err
	}
	taken := uint64(0)
	for _, n := range s.Taken {
		taken += n
	}
	if s.Depth() == 0 || state == queue.Paused && taken == 0 {
		return nil
	}
	return errBusy
}
