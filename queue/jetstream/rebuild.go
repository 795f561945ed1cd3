package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
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
	// Silent has the servers that do not respond. While there are any, the copies are not made equal, but
	// the results that only others had are added to the fullest one if that is not damaged.
	Silent []string
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
	var b strings.Builder
	b.WriteString("results: " + DescribeCopies(r.Before))
	if r.After != nil {
		b.WriteString("; now " + DescribeCopies(r.After))
	}
	if r.After != nil || r.Added > 0 {
		fmt.Fprintf(&b, ", and %d that only others had", r.Added)
	}
	if len(r.Silent) > 0 {
		fmt.Fprintf(&b, "; the copies were not made equal, because %s does not respond",
			strings.Join(r.Silent, ", "))
	}
	return b.String()
}

// Rebuild makes all replicas of each stream equal. After all servers have lost their last writes, or if
// their files are damaged, replicas may differ forever, and each reader sees one of them. Rebuild reads
// every copy of a stream, and does nothing if they are equal. While a server does not respond, it removes
// no copy, and only adds to the results; see Repair.Silent. Otherwise it keeps the fullest: it removes the
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
	if done, err := e.fillFullest(ctx, r); done || err != nil {
		return r, explain(&e.opts, err)
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
		if i := slices.IndexFunc(copies, func(c Copy) bool { return c.Silent }); i >= 0 {
			return r, &fetch.Error{Code: fetch.ErrServer, Retry: true,
				Err: fmt.Errorf("%s: the server %s no longer responds", name, copies[i].Server)}
		}
		if len(copies) == status.Replicas && allEqual(copies) { // an interrupted call may have left one
			continue
		}
		best, err := choose(copies)
		if err != nil {
			problems = append(problems,
				fmt.Errorf("%s: %w (messages: %s)", name, err, DescribeCopies(copies)))
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
		return r, e.notRepaired(errors.Join(problems...))
	}
	for _, name := range append(e.ownStreams(), e.opts.Name+"-leases", e.opts.Name+"-records") {
		best := differ[name]
		shared := name == e.opts.Name+"-leases" || name == e.opts.Name+"-records" // which expire
		if best == nil && !shared {
			continue
		}
		err := e.operations.guard(ctx,
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
	return r, explain(&e.opts, e.add(ctx, r, results))
}

// add adds results that other copies have.
func (e *Engine) add(ctx context.Context, r *Repair, results []message) error {
	for _, m := range results {
		if err := e.PutResult(ctx, m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], m.Data); err != nil {
			return fmt.Errorf("%s: cannot add a result of another copy: %w", m.Subject, err)
		}
		r.Added++
	}
	return nil
}

// fillFullest does what can be done while a server does not respond, and reports whether one does not:
// the fullest copy of the results leads, and gets those that only other copies have. A copy is not
// removed, because it could not be made again.
func (e *Engine) fillFullest(ctx context.Context, r *Repair) (done bool, err error) {
	name := e.streamName("results")
	s, err := e.ledStream(ctx, name)
	if err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	for _, peer := range s.CachedInfo().Cluster.Replicas {
		if peer.Offline {
			r.Silent = append(r.Silent, nameOf(peer))
		}
	}
	if len(r.Silent) == 0 {
		return false, nil
	}
	if r.Before, err = e.copies(ctx, name); err != nil {
		return true, fmt.Errorf("%s: %w", name, err)
	}
	if allEqual(responding(r.Before)) {
		return true, nil
	}
	best := fullestOf(r.Before)
	if best == nil {
		return true, &fetch.Error{Code: fetch.ErrServer, Err: fmt.Errorf("%s: no copy can be read", name)}
	}
	results, err := e.missing(ctx, s, r.Before, best)
	if err != nil {
		return true, fmt.Errorf("%s: %w", name, err)
	}
	if len(results) > 0 && best.Readable < best.Messages {
		// A server that writes over a damaged message stops the stream.
		return true, e.notRepaired(fmt.Errorf("%s: %w", name, errDamaged))
	}
	if err := e.leadFullest(ctx, s, best); err != nil {
		return true, err
	}
	return true, e.add(ctx, r, results)
}

func (e *Engine) notRepaired(err error) error {
	return &fetch.Error{Code: fetch.ErrServer,
		Err: fmt.Errorf("%s: the queue was not repaired: %w", e.opts.servers(), err)}
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
					DescribeCopies(copies), best.Readable)}
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
		if err := e.leadFullest(ctx, s, best); err != nil {
			return err
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
		if err := retry.Sleep(ctx, rebuildPollInterval); errors.Is(err, context.DeadlineExceeded) {
			return &fetch.Error{Code: fetch.ErrServer, Retry: true,
				Err: fmt.Errorf("the replicas are not complete after %v", rebuildTime)}
		} else if err != nil {
			return err
		}
	}
}
