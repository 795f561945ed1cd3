package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
)

// A NoQueueError is the cause of the error of Open if Options.Existing is set and the queue does not exist.
type NoQueueError struct {
	Name   string
	Crawls []string // of that queue; a crawl does not need it
}

func (e *NoQueueError) Error() string {
	text := "no such queue: " + e.Name
	if len(e.Crawls) > 0 {
		text += "; its crawls are: " + strings.Join(e.Crawls, ", ")
	}
	return text
}

// ErrIncomplete is the cause of the error of Open if Options.Existing is set and the queue lacks a part.
var ErrIncomplete = errors.New("the queue is not complete")

// exists returns an error unless the queue has all its streams. Some of them may be missing after all
// servers have lost their last writes.
func (e *Engine) exists(ctx context.Context) error {
	names := e.ownStreams()
	var missing []string
	for _, name := range names {
		_, err := e.js.Stream(ctx, name)
		if errors.Is(err, js.ErrStreamNotFound) {
			missing = append(missing, name)
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	last := names[len(names)-1]
	none := len(missing) == len(names)
	switch {
	case len(missing) == 0:
		return nil
	case e.opts.Crawl != "" && (none || slices.Contains(missing, last)):
		return &fetch.Error{Code: fetch.ErrNotFound,
			Err: fmt.Errorf("%w: %s", queue.ErrNoCrawl, e.opts.Crawl)}
	case none, len(missing) == len(names)-1 && !slices.Contains(missing, last):
		crawls, err := e.Crawls(ctx)
		if err != nil {
			return err
		}
		if !none && len(crawls) == 0 {
			break // otherwise the settings are those of the crawls
		}
		return &fetch.Error{Code: fetch.ErrNotFound, Err: &NoQueueError{e.opts.Name, crawls}}
	}
	return &fetch.Error{Code: fetch.ErrServer, Err: fmt.Errorf("%w: %s does not exist; "+
		"a worker or a submission creates it again", ErrIncomplete, strings.Join(missing, ", "))}
}

// replicas returns the number of replicas of a stream that is created: that of the options, or of the
// streams that the queue has, or 1.
func (e *Engine) replicas(ctx context.Context) (int, error) {
	if e.opts.Replicas > 0 {
		return e.opts.Replicas, nil
	}
	for _, name := range append(e.ownStreams(), e.opts.Name+"-results") {
		s, err := e.js.Stream(ctx, name)
		switch {
		case err == nil:
			return s.CachedInfo().Config.Replicas, nil
		case !errors.Is(err, js.ErrStreamNotFound):
			return 0, fmt.Errorf("%s: %w", name, err)
		}
	}
	return 1, nil
}

// checkReplicas returns an error if the queue has another number of replicas than that of the options.
func (e *Engine) checkReplicas() error {
	n := e.results.CachedInfo().Config.Replicas
	if e.opts.Replicas == 0 || e.opts.Replicas == n {
		return nil
	}
	return &fetch.Error{Code: fetch.ErrRequest, Err: fmt.Errorf(
		"the queue %s has %d replicas, not %d; its servers change that: nats stream edit --replicas",
		e.opts.Name, n, e.opts.Replicas)}
}
