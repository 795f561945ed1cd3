package queue

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
)

// A record is what is remembered of a job that did not end at the first attempt.
type record struct {
	Failures int    `json:"failures,omitempty"`
	Error    string `json:"error,omitempty"` // of the last failure
	// Begun are the attempts that have begun and not ended, apart from the first one, each by a name
	// of its own.
	Begun []string `json:"begun,omitempty"`
}

// amend changes the record of a submission, and returns it. Without create, nothing becomes of a
// record that is not there.
func amend(ctx context.Context, v Values, id string, create bool, change func(*record)) (*record, error) {
	for try := 0; ; try++ {
		r := &record{}
		data, revision, err := v.Get(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound):
			if !create {
				return r, nil
			}
			revision = 0
		case err != nil:
			return r, err
		case json.Unmarshal(data, r) != nil:
			*r = record{} // nothing that a worker wrote
		}
		change(r)
		if data, err = json.Marshal(r); err != nil {
			return r, err
		}
		if revision == 0 {
			_, err = v.Create(ctx, id, data)
		} else {
			_, err = v.Update(ctx, id, data, revision)
		}
		if try == 10 || !errors.Is(err, ErrExists) && !errors.Is(err, ErrConflict) {
			return r, err
		}
	}
}

// without returns a change that takes back that an attempt was begun.
func without(attempt string) func(*record) {
	return func(r *record) {
		r.Begun = slices.DeleteFunc(r.Begun, func(a string) bool { return a == attempt })
	}
}

// The amends are attempts of which it is still to be taken back that they were begun, as the engine
// could not be reached.
type amends struct {
	mu   sync.Mutex
	list []attempt
}

// An attempt is one at a submission.
type attempt struct{ id, name string }

// maxAmends bounds how many are remembered. Others count as crashes.
const maxAmends = 10_000

func (a *amends) add(one attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) < maxAmends {
		a.list = append(a.list, one)
	}
}

// do does what is left to do, until it fails.
func (a *amends) do(ctx context.Context, v Values) {
	for {
		a.mu.Lock()
		if len(a.list) == 0 {
			a.mu.Unlock()
			return
		}
		one := a.list[0]
		a.list = a.list[1:]
		a.mu.Unlock()
		if _, err := amend(ctx, v, one.id, false, without(one.name)); err != nil {
			a.add(one)
			return
		}
	}
}
