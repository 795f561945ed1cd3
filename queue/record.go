package queue

import (
	"cmp"
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
func amend(ctx context.Context, v Values, id string, create bool, change func(*record)) (r *record, err error) {
	var wrong error
	err = replace(ctx, v, id, func(old []byte, there bool) (data []byte) {
		if r = (&record{}); !there && !create {
			return nil
		}
		if there && json.Unmarshal(old, r) != nil {
			*r = record{} // nothing that a worker wrote
		}
		change(r)
		data, wrong = json.Marshal(r)
		return data
	})
	return cmp.Or(r, &record{}), cmp.Or(err, wrong)
}

// maxReplaced is how often a value is replaced again.
const maxReplaced = 10

// replace puts in the place of a value what f makes of it, unless that is nil: again if another worker
// changed it meanwhile. F is told whether it is there.
func replace(ctx context.Context, v Values, key string, f func(old []byte, there bool) []byte) error {
	for try := 0; ; try++ {
		old, revision, err := v.Get(ctx, key)
		there := !errors.Is(err, ErrNotFound)
		if there && err != nil {
			return err
		}
		data := f(old, there)
		switch {
		case data == nil:
			return nil
		case there:
			_, err = v.Update(ctx, key, data, revision)
		default:
			_, err = v.Create(ctx, key, data)
		}
		if try == maxReplaced || !errors.Is(err, ErrExists) && !errors.Is(err, ErrConflict) {
			return err
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
