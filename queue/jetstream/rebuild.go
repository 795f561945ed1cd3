package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
)

const (
	// rebuildTime limits the time until the replicas of a stream have the data of its leader.
	rebuildTime = 5 * time.Minute
	// rebuildPollInterval is the interval between requests for their state.
	rebuildPollInterval = 200 * time.Millisecond
)

// A Repair describes the copies of the results before and after Rebuild.
type Repair struct {
	Before, After []Copy // After is nil if the copies were equal
	Added         uint64 // results of other copies that the fullest one lacked
}

// Results returns the number of results that were in the copies.
func (r *Repair) Results() (n uint64) {
	for _, c := range r.Before {
		n = max(n, c.Readable)
	}
	return n + r.Added
}

// String compares the copies.
func (r *Repair) String() string {
	if r.After == nil {
		return "results: " + describe(r.Before)
	}
	return fmt.Sprintf("results: %s; now %s, and %d that only others had", describe(r.Before),
		describe(r.After), r.Added)
}

// Rebuild makes all replicas of each stream equal. After all servers have lost their last writes, or if
// their files are damaged, replicas may differ forever, and each reader sees one of them. Rebuild reads
// every copy of a stream, and does nothing if they are equal. Otherwise it keeps the fullest: it removes the
// others, adds them again, and reads them. Then it adds the results that only others had. If that
// could lose a message, or if a copy is not complete
// afterwards, it returns an error. It checks all streams before it changes one. It needs the rights of an
// administrator.
func (e *Engine) Rebuild(ctx context.Context) (*Repair, error) {
	r := &Repair{}
	status, err := e.Status(ctx)
	if err != nil {
		return r, err
	}
	differ := map[string]*Copy{} // the copies to keep
	var results []message        // that the kept copy lacks
	var problems []error
	for _, name := range e.ownStreams() {
		copies, err := e.copies(ctx, name)
		if err != nil {
			return r, explain(&e.opts, fmt.Errorf("%s: %w", name, err))
		}
		if name == e.streamName("results") {
			r.Before = copies
		}
		if len(copies) == status.Replicas && allEqual(copies) { // an interrupted call may have left one
			continue
		}
		best, err := choose(copies)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w (messages: %s)", name, err, describe(copies)))
			continue
		}
		differ[name] = best
		if name == e.streamName("results") {
			s, err := e.ledStream(ctx, name)
			if err == nil {
				results, err = e.missing(ctx, s, copies, best)
			}
			if err != nil {
				return r, explain(&e.opts, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	if len(problems) > 0 {
		return r, &fetch.Error{Code: fetch.ErrServer,
			Err: fmt.Errorf("%s: the queue was not repaired: %w", e.opts.servers(), errors.Join(problems...))}
	}
	for _, name := range append(e.ownStreams(), e.opts.Name+"-leases", e.opts.Name+"-records") {
		best := differ[name]
		shared := name == e.opts.Name+"-leases" || name == e.opts.Name+"-records" // which expire
		if best == nil && !shared {
			continue
		}
		err := e.denials.guard(ctx,
			func(ctx context.Context) error {
				return e.rebuild(ctx, name, status.Replicas, best)
			}, "STREAM.INFO."+name, "STREAM.UPDATE."+name)
		if err == nil && best != nil {
			var after []Copy
			if after, err = e.verify(ctx, name, best); name == e.streamName("results") {
				r.After = after
			}
		}
		if err != nil {
			return r, explain(&e.opts, fmt.Errorf("%s: %w", name, err))
		}
	}
	for _, m := range results {
		if err := e.PutResult(ctx, m.subject[strings.LastIndexByte(m.subject, '.')+1:], m.data); err != nil {
			return r, explain(&e.opts,
				fmt.Errorf("%s: cannot add a result of another copy: %w", m.subject, err))
		}
		r.Added++
	}
	return r, nil
}

// verify reads all copies of a rebuilt stream, and returns an error if one of them is not complete. Jobs
// may have ended since.
func (e *Engine) verify(ctx context.Context, name string, best *Copy) ([]Copy, error) {
	copies, err := e.copies(ctx, name)
	if err != nil {
		return copies, err
	}
	for i := range copies {
		c := &copies[i]
		if c.Unknown || c.Readable < c.Messages || c.Last < best.Last ||
			name == e.streamName("results") && c.Readable < best.Readable {
			return copies, &fetch.Error{Code: fetch.ErrServer,
				Err: fmt.Errorf("the copies are not complete after the repair (messages: %s, of %d)",
					describe(copies), best.Readable)}
		}
	}
	return copies, nil
}

// rebuild reduces a stream to one copy, that of its leader, and adds the others again. If best is not nil,
// that copy is kept. The queue has that number of replicas; the stream may have fewer after an interrupted
// call.
func (e *Engine) rebuild(ctx context.Context, name string, replicas int, best *Copy) error {
	ctx, cancel := context.WithTimeout(ctx, rebuildTime)
	defer cancel()
	s, err := e.ledStream(ctx, name)
	if err != nil {
		return err
	}
	if best != nil {
		switch led, err := e.lead(ctx, s, best.Server); {
		case err != nil:
			return err
		case !led:
			return &fetch.Error{Code: fetch.ErrServer, Retry: true,
				Err: fmt.Errorf("the server with the fullest copy, %s, does not lead the stream",
					best.Server)}
		}
	}
	cfg := s.CachedInfo().Config
	for _, n := range []int{1, replicas} {
		if cfg.Replicas == n {
			continue
		}
		cfg.Replicas = n
		if _, err := e.js.UpdateStream(ctx, cfg); err != nil {
			return err
		}
		if err := waitForReplicas(ctx, s, n); err != nil {
			return err
		}
	}
	return nil
}

func waitForReplicas(ctx context.Context, s js.Stream, n int) error {
	for {
		info, err := s.Info(ctx)
		if err == nil && info.Cluster != nil && info.Cluster.Leader != "" &&
			len(info.Cluster.Replicas) == n-1 {
			missing := queue.Status{}
			if addInfo(&missing, info); missing.Missing == 0 {
				return nil
			}
		}
		select {
		case <-time.After(rebuildPollInterval):
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return &fetch.Error{Code: fetch.ErrServer, Retry: true,
					Err: fmt.Errorf("the replicas are not complete after %v", rebuildTime)}
			}
			return context.Cause(ctx)
		}
	}
}
