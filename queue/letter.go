package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
)

// An Event is a result in a queue: the final event of --json with additional fields.
type Event struct {
	job.Event
	ID       string `json:"id"`                 // of the submission
	Key      string `json:"key,omitempty"`      // of the job, see [Key]
	Worker   string `json:"worker,omitempty"`   // the worker that ended the job
	Failures int    `json:"failures,omitempty"` // number of failed attempts
	// ETag and ModTime are the validator of the content of a list job: saved, unchanged. SubmitAfter uses
	// it. In JSON, ModTime is named mtime.
	ETag    string    `json:"etag,omitempty"`
	ModTime time.Time `json:"mtime,omitzero"`
}

func newEvent(t *task, res *job.Result, path string) *Event {
	ev := &Event{Event: res.Event(path), ID: t.sub.ID, Key: Key(t.sub.Job), Worker: t.Name}
	ev.Time = time.Now().UTC().Format(time.RFC3339Nano)
	if t.visit != nil && res.Outcome == job.Skipped {
		ev.Reason = string(t.visit.skipped)
	}
	if t.record != nil {
		ev.Failures = t.record.Failures
	}
	if t.visit == nil {
		ev.setVersion(res, t.earlier)
	}
	var e *fetch.Error
	if t.Hint != nil && res.Outcome == job.Failed && errors.As(res.Err, &e) {
		ev.Hint = t.Hint(e)
	}
	return ev
}

// A Letter is a dead letter: a job that failed for good, with its last error. It contains the
// complete job, including secrets.
type Letter struct {
	URL      string    `json:"url,omitempty"` // without the password; "" if the message is not a job
	Priority Priority  `json:"priority"`
	Class    string    `json:"class,omitempty"` // the fetch.Code of the error
	Error    string    `json:"error"`
	Failures int       `json:"failures,omitempty"`
	Time     time.Time `json:"time"`
	// Job is the submission. Raw holds the message if it is not a valid submission.
	Job json.RawMessage `json:"job,omitempty"`
	Raw []byte          `json:"raw,omitempty"`
}

const (
	maxRaw   = 64 << 10 // bytes of an invalid message
	maxError = 4 << 10  // bytes of an error
)

func newLetter(data []byte, p Priority, why error, r *record) *Letter {
	l := &Letter{Priority: p, Class: string(fetch.CodeOf(why)), Error: fetch.Printable(why.Error()),
		Time: time.Now().UTC()}
	if s, err := decode(data); err == nil {
		l.URL, l.Job = s.Job.URL.Redacted(), data
	} else {
		l.Raw = data[:min(len(data), maxRaw)]
	}
	l.Error = strings.ToValidUTF8(l.Error[:min(len(l.Error), maxError)], "")
	if r != nil {
		l.Failures = r.Failures
	}
	return l
}

// digest returns the ID of a dead letter whose message has no ID. Equal messages have the same ID.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// Letter decodes the dead letter in the message.
func (s Stored) Letter() (*Letter, error) {
	l := &Letter{}
	if err := json.Unmarshal(s.Data, l); err != nil {
		return nil, fmt.Errorf("invalid dead letter: %w", err)
	}
	return l, nil
}

// Job decodes the job in the message. The ID is that of the submission.
func (s Stored) Job() (id string, j *job.Job, err error) {
	sub, err := decode(s.Data)
	if err != nil {
		return "", nil, err
	}
	return sub.ID, sub.Job, nil
}

// Retry submits the job of a dead letter again, even if it is a duplicate of an earlier submission.
func (l *Letter) Retry(ctx context.Context, e Engine) error {
	data := []byte(l.Job)
	if data == nil {
		data = l.Raw // a worker of a former version may not have known a field
	}
	old, err := decode(data)
	if err == nil {
		err = checkAccepts(ctx, e)
	}
	if err != nil {
		return err
	}
	s := newSubmission(old.Job)
	s.Page, s.Last = old.Page, old.Last
	text, err := s.encode(longest(e))
	if err != nil {
		return err
	}
	_, err = e.Submit(ctx, l.Priority, "again-"+old.ID, text) // retrying a letter twice adds one job
	return err
}
