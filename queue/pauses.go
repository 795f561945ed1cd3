package queue

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"
)

// The pauses are what workers tell each other of hosts that are busy: until when to leave one alone.
// Their clocks should agree to within a second.
type pauses struct {
	values Values
	mu     sync.Mutex
	seen   map[string]seenPause
}

type seenPause struct {
	until time.Time // zero if there is none
	at    time.Time // when it was looked up
}

const (
	// pauseFresh is for how long what was looked up counts.
	pauseFresh = 500 * time.Millisecond
	maxPauses  = 10_000 // hosts that are remembered
)

func newPauses(v Values) *pauses { return &pauses{values: v, seen: map[string]seenPause{}} }

// until returns until when a host is to be left alone; a time in the past if it is not.
func (p *pauses) until(ctx context.Context, host string) (time.Time, error) {
	if host == "" {
		return time.Time{}, nil
	}
	now := time.Now()
	p.mu.Lock()
	s, ok := p.seen[host]
	p.mu.Unlock()
	if ok && (now.Sub(s.at) < pauseFresh || s.until.After(now)) {
		return s.until, nil
	}
	value, _, err := p.values.Get(ctx, "pause/"+hostKey(host))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return time.Time{}, err
	}
	ms, _ := strconv.ParseInt(string(value), 10, 64) // 0 if it is none
	until := time.Time{}
	if ms > 0 {
		until = bounded(ms, now)
	}
	p.remember(host, until, now)
	return until, nil
}

// known reports whether a host is to be left alone now, as far as this worker has heard.
func (p *pauses) known(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[host].until.After(time.Now())
}

func (p *pauses) remember(host string, until, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.seen) >= maxPauses {
		clear(p.seen)
	}
	p.seen[host] = seenPause{until, now}
}

// set tells all workers to leave a host alone. What another worker said stays if it is longer.
func (p *pauses) set(ctx context.Context, host string, until time.Time) error {
	if host == "" {
		return nil
	}
	p.mu.Lock()
	known := p.seen[host].until
	p.mu.Unlock()
	if !until.After(known) {
		return nil
	}
	p.remember(host, until, time.Now())
	ms := until.Add(time.Millisecond).UnixMilli()
	return replace(ctx, p.values, "pause/"+hostKey(host), func(old []byte, _ bool) []byte {
		if told, _ := strconv.ParseInt(string(old), 10, 64); told >= ms {
			now := time.Now()
			p.remember(host, bounded(told, now), now)
			return nil
		}
		return strconv.AppendInt(nil, ms, 10)
	})
}

// bounded returns a time that was told, which is not far from now.
func bounded(ms int64, now time.Time) time.Time {
	return time.UnixMilli(min(ms, now.Add(maxRetryAfter).UnixMilli()))
}
