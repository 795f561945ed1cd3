package queue

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/urlget/urlget/fetch/job"
)

// skippedCancelled is the reason in the result of a cancelled job.
const skippedCancelled = "cancelled"

// Cancel removes an unfinished job that Admin.Jobs yielded, and adds a result with the reason
// "cancelled". It returns false if the job has another result. A worker that holds the job may still
// execute it, but the result remains.
func (r *Results) Cancel(ctx context.Context, p Priority, m Stored) (cancelled bool, err error) {
	e := r.Engine.(Admin)
	s, err := decode(m.Data)
	if err != nil {
		return false, err
	}
	finished, err := r.has(ctx, s, s.Time)
	if err != nil {
		return false, err
	}
	if !finished {
		res := &job.Result{URL: s.Job.URL.Redacted(), Op: s.Job.Op, Outcome: job.Skipped, Size: -1}
		ev := &Event{Event: res.Event(""), ID: s.ID, Key: Key(s.Job)}
		ev.Reason, ev.Time = skippedCancelled, time.Now().UTC().Format(time.RFC3339Nano)
		data, err := json.Marshal(ev)
		if err == nil {
			err = e.PutResult(ctx, s.ID, data)
		}
		if err != nil {
			return false, err
		}
	}
	err = e.DropJob(ctx, p, m.Sequence)
	if errors.Is(err, ErrNotFound) { // a worker has finished it since
		return false, nil
	}
	if err == nil {
		e.Records().Delete(ctx, s.ID, 0) // otherwise it expires
	}
	return err == nil && !finished, err
}
