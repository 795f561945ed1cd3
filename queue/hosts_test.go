package queue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// memory implements Values in memory.
type memory struct {
	mu      sync.Mutex
	m       map[string]string
	at      map[string]uint64
	n       uint64
	updated func() error // called once, after a value was updated and before the response
}

func newMemory() *memory { return &memory{m: map[string]string{}, at: map[string]uint64{}} }

func (v *memory) Get(_ context.Context, key string) ([]byte, uint64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.at[key] == 0 {
		return nil, 0, ErrNotFound
	}
	return []byte(v.m[key]), v.at[key], nil
}

func (v *memory) set(key string, value []byte, revision uint64, mismatch error) (uint64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.at[key] != revision {
		return 0, mismatch
	}
	v.n++
	v.m[key], v.at[key] = string(value), v.n
	return v.n, nil
}

func (v *memory) Create(_ context.Context, key string, value []byte) (uint64, error) {
	return v.set(key, value, 0, ErrExists)
}

func (v *memory) Update(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	now, err := v.set(key, value, revision, ErrConflict)
	if f := v.updated; f != nil && err == nil {
		v.updated = nil
		err = f()
	}
	return now, err
}

func (v *memory) Put(_ context.Context, key string, value []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n++
	v.m[key], v.at[key] = string(value), v.n
	return nil
}

func (v *memory) Delete(_ context.Context, key string, revision uint64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if revision > 0 && v.at[key] != revision {
		return ErrConflict
	}
	delete(v.m, key)
	delete(v.at, key)
	return nil
}

// A lease that a worker releases is free at once, even if it is being renewed at that moment, so
// that the worker does not know its last revision.
func TestReleasedLeaseIsFree(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]error{"concurrent renewal": nil, "lost response": errors.New("no response")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMemory()
			h := newHosts(v, time.Minute, 1, 0, "me")
			_, give, err := h.take(t.Context(), "host")
			if err != nil {
				t.Fatal(err)
			}
			h.mu.Lock()
			for p := range h.known["host"].leases {
				p.acquired = p.acquired.Add(-maxLeaseTime) // old enough to be released
			}
			h.mu.Unlock()
			v.updated = func() error {
				give(0)
				h.deletions.Wait()
				return response
			}
			h.renewAll(t.Context())
			other := newHosts(v, time.Minute, 1, 0, "other")
			if !other.reserve(t.Context(), "host") {
				t.Error("the released lease was not deleted")
			}
			h.close(t.Context())
			other.close(t.Context())
			if len(v.m) > 0 {
				t.Errorf("leases left: %v", v.m)
			}
		})
	}
}
