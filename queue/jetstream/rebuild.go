package jetstream

import (
	"context"
	"errors"
	"fmt"
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

// Rebuild makes all replicas of each stream equal to that of its leader: it removes the others and adds
// them again. After all servers have lost their last writes, replicas may differ forever, and each reader
// sees one of them. It needs the rights of an administrator.
func (e *Engine) Rebuild(ctx context.Context) error {
	status, err := e.Status(ctx)
	if err != nil {
		return err
	}
	names := append(e.ownStreams(), e.opts.Name+"-leases", e.opts.Name+"-records")
	for _, name := range names {
		err := e.denials.guard(ctx, func(ctx context.Context) error { return e.rebuild(ctx, name, status.Replicas) }, "STREAM.INFO."+name, "STREAM.UPDATE."+name)
		if err != nil {
			return explain(&e.opts, fmt.Errorf("%s: %w", name, err))
		}
	}
	return nil
}

// rebuild is Rebuild for a stream. The queue has that number of replicas; the stream may have fewer after
// an interrupted call.
func (e *Engine) rebuild(ctx context.Context, name string, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, rebuildTime)
	defer cancel()
	s, err := e.js.Stream(ctx, name)
	if err != nil {
		return err
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

// waitForReplicas waits until a stream has n replicas, all with the data of the leader.
func waitForReplicas(ctx context.Context, s js.Stream, n int) error {
	for {
		info, err := s.Info(ctx)
		if err == nil && info.Cluster != nil && info.Cluster.Leader != "" && len(info.Cluster.Replicas) == n-1 {
			missing := queue.Status{}
			if addInfo(&missing, info); missing.Missing == 0 {
				return nil
			}
		}
		select {
		case <-time.After(rebuildPollInterval):
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return &fetch.Error{Code: fetch.ErrServer, Retry: true, Err: fmt.Errorf("the replicas are not complete after %v", rebuildTime)}
			}
			return context.Cause(ctx)
		}
	}
}
