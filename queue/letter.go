package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
)

// An Event is a result in a queue: what --json prints at the end of a transfer, and more.
type Event struct {
	render.Event
	ID       string `json:"id"`                 // of the submission
	Worker   string `json:"worker,omitempty"`   // that ended it
	Failures int    `json:"failures,omitempty"` // before it ended
}

func newEvent(t *task, res *job.Result, path string) *Event {
	ev := &Event{Event: res.Event(path), ID: t.sub.ID, Worker: t.Name}
	ev.Time = time.Now().UTC().Format(time.RFC3339Nano)
	if t.visit != nil && res.Outcome == job.Skipped {
		ev.Reason = t.visit.skipped
	}
	if t.record != nil {
		ev.Failures = t.record.Failures
	}
	return ev
}

// A Letter is a dead letter: a job that could not be done, with the last error. It has all that the
// job has, secrets included.
type Letter struct {
	URL      string    `json:"url,omitempty"` // without a password; "" if there is none
	Priority Priority  `json:"priority"`
	Class    string    `json:"class,omitempty"` // the fetch.Code of the error
	Error    string    `json:"error"`
	Failures int       `json:"failures,omitempty"`
	Time     time.Time `json:"time"`
	// Job is the submission, or Raw if that is no JSON.
	Job json.RawMessage `json:"job,omitempty"`
	Raw []byte          `json:"raw,omitempty"`
}

const (
	maxRaw   = 64 << 10 // bytes that are kept of a message that is no job
	maxError = 4 << 10  // bytes of an error
)

func newLetter(data []byte, p Priority, why error, r *record) *Letter {
	l := &Letter{Priority: p, Class: string(fetch.CodeOf(why)), Error: fetch.Printable(why.Error()), Time: time.Now().UTC()}
	if s, err := Decode(data); err == nil {
		l.URL, l.Job = s.Job.URL.Redacted(), data
	} else {
		l.Raw = data[:min(len(data), maxRaw)]
	}
	if len(l.Error) > maxError {
		l.Error = l.Error[:maxError]
		for !utf8.ValidString(l.Error) {
			l.Error = l.Error[:len(l.Error)-1]
		}
	}
	if r != nil {
		l.Failures = r.Failures
	}
	return l
}

// digest is the ID of the letter of a message that has none: what comes twice is one.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// Retry submits the job of a dead letter anew, whatever was submitted before.
func Retry(ctx context.Context, e Engine, data []byte) (*Submission, error) {
	l := &Letter{}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, fmt.Errorf("no dead letter: %w", err)
	}
	s, err := Decode(l.Job)
	if err != nil {
		return nil, err
	}
	old := s.ID
	page := s.Page
	s = NewSubmission(s.Job)
	s.Page = page
	text, err := s.Encode(min(e.Limits().Message, MaxSubmission))
	if err != nil {
		return nil, err
	}
	_, err = e.Submit(ctx, l.Priority, "again-"+old, text) // the same letter twice is one job
	return s, err
}
