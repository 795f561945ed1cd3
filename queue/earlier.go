package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
)

// maxETag limits the entity tags in results, in bytes. Longer ones are not used.
const maxETag = 512

// minModAge is the least age of a modification time that is a validator: a resource may change again
// within its resolution (RFC 9110, section 8.8.2.2).
const minModAge = time.Minute

// has reports whether a submission has a result. It was submitted at that time.
func (r *Results) has(ctx context.Context, s *submission, at time.Time) (bool, error) {
	if at.After(s.Time) { // a job that was moved
		at = s.Time
	}
	_, err := r.Get(ctx, s.ID, at)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// loadEarlier returns the earlier result of the job if it names a content that the store has, and a
// validator. An error is one of the engine.
func (t *task) loadEarlier(ctx context.Context) (*Event, error) {
	if t.sub.Last == "" || !isConditional(t.sub.Job) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	data, err := t.results.Get(ctx, t.sub.Last, time.Time{})
	if errors.Is(err, ErrNotFound) { // it has expired
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ev := &Event{}
	// The ID comes from the submitter, who may name the result of another job.
	if json.Unmarshal(data, ev) != nil || ev.Key != Key(t.sub.Job) || !ev.hasVersion() {
		return nil, nil
	}
	body, err := t.Store.Get(ctx, ev.SHA256)
	if err != nil {
		return nil, nil
	}
	body.Close()
	return ev, nil
}

// isConditional reports whether an unchanged resource means an unchanged response.
func isConditional(j *job.Job) bool {
	return j.Op == fetch.OpGet && j.Range.IsZero() && len(j.Ranges) == 0 &&
		(j.Method == "" || j.Method == "GET") && j.Data == "" && len(j.Form) == 0
}

// hasVersion reports whether the result has a content and a validator.
func (ev *Event) hasVersion() bool {
	return ev.SHA256 != "" && (ev.ETag != "" || !ev.ModTime.IsZero()) && len(ev.ETag) <= maxETag &&
		!strings.ContainsAny(ev.ETag, "\r\n\x00")
}

// movedUnchanged reports whether another resource than before is the unchanged one, because a redirect
// leads elsewhere. The validator says nothing about its content.
func (t *task) movedUnchanged(res *job.Result) bool {
	return t.earlier != nil && res.Outcome == job.Unchanged && res.FinalURL != t.earlier.FinalURL
}

// setVersion sets the validator. If the resource is unchanged, the content is the earlier one.
func (ev *Event) setVersion(res *job.Result, earlier *Event) {
	switch {
	case res.Outcome == job.Saved:
		if len(res.ETag) <= maxETag {
			ev.ETag = res.ETag
		}
		if res.Started.Sub(res.ModTime) >= minModAge {
			ev.ModTime = res.ModTime.UTC()
		}
	case res.Outcome == job.Unchanged && earlier != nil:
		ev.Path, ev.SHA256, ev.Bytes = earlier.Path, earlier.SHA256, earlier.Bytes
		ev.ETag, ev.ModTime = earlier.ETag, earlier.ModTime
	}
}

// IsCancelled reports whether the job was cancelled before it had another result.
func (ev *Event) IsCancelled() bool {
	return ev.Name == string(job.Skipped) && ev.Reason == skippedCancelled
}
