package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
)

// A record is the stored state of a job whose first attempt did not end it.
type record struct {
	Failures int    `json:"failures,omitempty"`
	Error    string `json:"error,omitempty"` // text of the last failure
	// Active holds the names of attempts that have started and not ended, except the first.
	Active []string `json:"begun,omitempty"`
}

// updateRecord changes the record of a submission and returns it. If create is false, a missing
// record is not created.
func updateRecord(ctx context.Context, v Values, id string, create bool,
	change func(*record)) (*record, error) {
	var r *record
	err := replace(ctx, v, id, func(old []byte, exists bool) ([]byte, error) {
		if r = (&record{}); !exists && !create {
			return nil, nil
		}
		if exists && json.Unmarshal(old, r) != nil {
			*r = record{} // not written by a worker
		}
		change(r)
		return json.Marshal(r)
	})
	return cmp.Or(r, &record{}), err
}

// replace updates a value with the result of change, whose second argument reports whether the
// value exists. It calls change again if another worker changed the value. If change returns nil,
// the value is kept.
func replace(ctx context.Context, v Values, key string,
	change func(old []byte, exists bool) ([]byte, error)) error {
	for {
		old, revision, err := v.Get(ctx, key)
		exists := !errors.Is(err, ErrNotFound)
		if exists && err != nil {
			return err
		}
		data, err := change(old, exists)
		switch {
		case err != nil || data == nil:
			return err
		case exists:
			_, err = v.Update(ctx, key, data, revision)
		default:
			_, err = v.Create(ctx, key, data)
		}
		if !errors.Is(err, ErrExists) && !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

func withoutAttempt(attempt string) func(*record) {
	return func(r *record) {
		r.Active = slices.DeleteFunc(r.Active, func(a string) bool { return a == attempt })
	}
}

// A pendingUpdates value holds ended attempts that are still in Active because the engine was
// unreachable.
type pendingUpdates struct {
	mu   sync.Mutex
	list []attempt
}

type attempt struct{ id, name string }

// maxPending limits the list. Attempts beyond it count as crashes.
const maxPending = 10_000

func (a *pendingUpdates) add(one attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) < maxPending {
		a.list = append(a.list, one)
	}
}

// do removes the pending attempts from their records, until an update fails.
func (a *pendingUpdates) do(ctx context.Context, v Values) {
	for {
		a.mu.Lock()
		if len(a.list) == 0 {
			a.mu.Unlock()
			return
		}
		one := a.list[0]
		a.list = a.list[1:]
		a.mu.Unlock()
		if _, err := updateRecord(ctx, v, one.id, false, withoutAttempt(one.name)); err != nil {
			a.add(one)
			return
		}
	}
}
