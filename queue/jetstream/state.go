package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
)

const (
	stateKey = "state"
	// limitsKey is the key of the limits of hosts, in the stream of the queue's state.
	limitsKey = "limits"
	// stateCacheTime is how long the state of the queue is cached. Workers and submitters ask for it
	// before each job.
	stateCacheTime = 2 * time.Second
)

// A stateCache holds the last known state of the queue.
type stateCache struct {
	mu    sync.Mutex
	state queue.State
	at    time.Time // time of the last request; zero if the state is not known
}

func (c *stateCache) set(s queue.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.at = s, time.Now()
}

// get returns the state, and whether it must be requested. While one caller does that, others get
// the last known state.
func (c *stateCache) get() (s queue.State, known, stale bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known = !c.at.IsZero()
	if stale = time.Since(c.at) >= stateCacheTime; known && stale {
		c.at = time.Now()
	}
	return c.state, known, stale
}

// State implements queue.Engine.
func (e *Engine) State(ctx context.Context) (queue.State, error) {
	s, known, stale := e.stateCache.get()
	if known && !stale {
		return s, nil
	}
	value, _, err := e.state.Get(ctx, stateKey)
	switch {
	case err == nil:
		s = queue.State(value)
	case errors.Is(err, queue.ErrNotFound):
		s = e.formerState(ctx)
	case known:
		e.opts.Logger.Debug("cannot read the state of the queue", "error", err)
		return s, nil
	default:
		return "", explain(&e.opts, err)
	}
	e.stateCache.set(s)
	return s, nil
}

// formerState returns the state of a queue whose state was never set. Earlier versions stopped a crawl in
// its description.
func (e *Engine) formerState(ctx context.Context) queue.State {
	if e.pages == nil {
		return queue.Running
	}
	var crawl struct {
		Stopped bool `json:"stopped"`
	}
	if data, _, err := e.pages.Get(ctx, "crawl"); err == nil && json.Unmarshal(data, &crawl) == nil &&
		crawl.Stopped {
		return queue.Paused
	}
	return queue.Running
}

// SetState implements queue.Admin.
func (e *Engine) SetState(ctx context.Context, s queue.State) error {
	switch s {
	case queue.Running, queue.Paused, queue.Draining:
	default:
		return &fetch.Error{Code: fetch.ErrRequest,
			Err: fmt.Errorf("%q is not a state of a queue", string(s))}
	}
	err := e.state.Put(ctx, stateKey, []byte(s))
	if err != nil {
		return explain(&e.opts, err)
	}
	e.stateCache.set(s)
	return nil
}

// settings returns the values of the queue that only administrators may change, also those of its crawls.
// It returns nil if there are none, because only crawls were used.
func (e *Engine) settings(ctx context.Context) (*values, error) {
	if e.pages == nil {
		return e.state, nil
	}
	name := e.opts.Name + "-state"
	var stream js.Stream
	err := e.operations.guard(ctx, func(ctx context.Context) (err error) {
		stream, err = e.js.Stream(ctx, name)
		return err
	}, name)
	if errors.Is(err, js.ErrStreamNotFound) {
		return nil, nil
	}
	return &values{e, stream, e.subject("state", ""), 0}, err
}

func (e *Engine) setting(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	v, err := e.settings(ctx)
	if err == nil && v != nil {
		value, revision, err = v.Get(ctx, key)
	}
	if errors.Is(err, queue.ErrNotFound) {
		return nil, 0, nil
	}
	return value, revision, explain(&e.opts, err)
}

// HostLimits implements queue.Engine.
func (e *Engine) HostLimits(ctx context.Context) ([]byte, error) {
	text, _, err := e.setting(ctx, limitsKey)
	return text, err
}

// SetHostLimits implements queue.Admin.
func (e *Engine) SetHostLimits(ctx context.Context, text []byte) error {
	if len(text) > e.limits.Message {
		return &fetch.Error{Code: fetch.ErrTooLarge,
			Err: fmt.Errorf("the limits of hosts have %d bytes, and a message at most %d", len(text),
				e.limits.Message)}
	}
	v, err := e.makeSettings(ctx)
	if err == nil {
		err = v.Put(ctx, limitsKey, text)
	}
	return explain(&e.opts, err)
}

func (e *Engine) makeSettings(ctx context.Context) (*values, error) {
	return e.makeValues(ctx, e.opts.Name+"-state", e.subject("state", ""), 0)
}

// segmentsKey is the key of the list of segments. A worker of a crawl may write to the values of the crawl,
// and not to those of the queue.
func (e *Engine) segmentsKey() string { return path.Join("segments", e.opts.Crawl) }

// Segments implements queue.Engine.
func (e *Engine) Segments(ctx context.Context) (list []byte, revision uint64, err error) {
	return e.setting(ctx, e.segmentsKey())
}

// SetSegments implements queue.Admin.
func (e *Engine) SetSegments(ctx context.Context, list []byte, revision uint64) (uint64, error) {
	v, err := e.makeSettings(ctx)
	if err == nil {
		revision, err = v.Update(ctx, e.segmentsKey(), list, revision)
	}
	return revision, explain(&e.opts, err)
}
