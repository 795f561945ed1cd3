package queue

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"
)

// A pauses value shares among workers how long busy hosts are paused. The clocks of workers should
// agree to within a second.
type pauses struct {
	values Values
	mu     sync.Mutex
	cache  map[string]cachedPause
}

type cachedPause struct {
	until time.Time // zero if the host is not paused
	at    time.Time // time of the lookup
}

const (
	// pauseCacheTime is how long a lookup is cached.
	pauseCacheTime = 500 * time.Millisecond
	maxPauses      = 10_000 // hosts in the cache
)

func newPauses(v Values) *pauses { return &pauses{values: v, cache: map[string]cachedPause{}} }

// until returns the end of the pause of a host, or a time in the past.
func (p *pauses) until(ctx context.Context, host string) (time.Time, error) {
	if host == "" {
		return time.Time{}, nil
	}
	now := time.Now()
	p.mu.Lock()
	s, ok := p.cache[host]
	p.mu.Unlock()
	if ok && (now.Sub(s.at) < pauseCacheTime || s.until.After(now)) {
		return s.until, nil
	}
	value, _, err := p.values.Get(ctx, "pause/"+hostKey(host))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return time.Time{}, err
	}
	ms, _ := strconv.ParseInt(string(value), 10, 64) // 0 if the value is not a number
	until := time.Time{}
	if ms > 0 {
		until = limitTime(ms, now)
	}
	p.remember(host, until, now)
	return until, nil
}

// known reports whether a host is paused, from the cache only.
func (p *pauses) known(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cache[host].until.After(time.Now())
}

func (p *pauses) remember(host string, until, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.cache) >= maxPauses {
		clear(p.cache)
	}
	p.cache[host] = cachedPause{until, now}
}

// set pauses a host for all workers. A longer pause of another worker is kept.
func (p *pauses) set(ctx context.Context, host string, until time.Time) error {
	if host == "" {
		return nil
	}
	p.mu.Lock()
	known := p.cache[host].until
	p.mu.Unlock()
	if !until.After(known) {
		return nil
	}
	p.remember(host, until, time.Now())
	ms := until.Add(time.Millisecond).UnixMilli()
	return replace(ctx, p.values, "pause/"+hostKey(host), func(old []byte, _ bool) ([]byte, error) {
		if stored, _ := strconv.ParseInt(string(old), 10, 64); stored >= ms {
			now := time.Now()
			p.remember(host, limitTime(stored, now), now)
			return nil, nil
		}
		return strconv.AppendInt(nil, ms, 10), nil
	})
}

// limitTime returns a stored time, limited to maxRetryAfter from now.
func limitTime(ms int64, now time.Time) time.Time {
	return time.UnixMilli(min(ms, now.Add(maxRetryAfter).UnixMilli()))
}
