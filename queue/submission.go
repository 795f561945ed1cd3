package queue

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

type submission struct {
	// ID is unique, also among submissions of the same job.
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	Job  *job.Job  `json:"-"`
	Page *page     `json:"page,omitempty"` // nil if the job is not a page of a crawl
	// Last is the ID of an earlier submission of the job. Its result makes the request conditional.
	Last string `json:"last,omitempty"`
}

// version is the version of the encoding. Workers refuse other versions.
const version = 1

type encoded struct {
	Version int             `json:"v"`
	ID      string          `json:"id"`
	Time    time.Time       `json:"time"`
	Job     json.RawMessage `json:"job"`
	Page    *page           `json:"page,omitempty"`
	Last    string          `json:"last,omitempty"`
}

func newSubmission(j *job.Job) *submission {
	var id [16]byte
	crand.Read(id[:])
	return &submission{ID: hex.EncodeToString(id[:]), Time: time.Now().UTC().Truncate(time.Millisecond),
		Job: j}
}

// encode returns the JSON form of s. It fails if a worker would refuse it, or if it has more than
// longest bytes.
func (s *submission) encode(longest int) ([]byte, error) {
	if err := check(s.Job, s.Page != nil); err != nil {
		return nil, err
	}
	text, err := json.Marshal(s.Job)
	if err != nil {
		return nil, refused(s.Job, err)
	}
	data, err := json.Marshal(encoded{version, s.ID, s.Time, text, s.Page, s.Last})
	if err == nil && len(data) > longest {
		err = fmt.Errorf("the job has %d bytes, and the limit is %d", len(data), longest)
	}
	if err != nil {
		return nil, refused(s.Job, err)
	}
	return data, nil
}

// maxSubmission limits the JSON form of a submission, in bytes.
const maxSubmission = 1 << 20

func longest(e Engine) int { return min(e.Limits().Message, maxSubmission) }

// decode parses and validates an untrusted submission.
func decode(data []byte) (*submission, error) {
	if len(data) > maxSubmission {
		return nil, refused(nil, fmt.Errorf("the job has more than %d bytes", maxSubmission))
	}
	var e encoded
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(&e)
	switch {
	case err != nil:
		return nil, refused(nil, fmt.Errorf("invalid job: %w", err))
	case dec.More():
		return nil, refused(nil, errors.New("the message contains more than one job"))
	case e.Version != version:
		return nil, refused(nil,
			fmt.Errorf("the job has version %d, and this worker supports version %d", e.Version, version))
	case !isID(e.ID):
		return nil, refused(nil, errors.New("the job ID is not 32 hexadecimal digits"))
	case e.Last != "" && (!isID(e.Last) || e.Page != nil):
		return nil, refused(nil, errors.New("the ID of the earlier submission is not valid"))
	}
	j, err := job.Decode(e.Job)
	if err != nil {
		return nil, err
	}
	if err := check(j, e.Page != nil); err != nil {
		return nil, err
	}
	return &submission{e.ID, e.Time, j, e.Page, e.Last}, nil
}

func isID(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) == 32
}

func refused(j *job.Job, err error) error {
	e := &fetch.Error{Code: fetch.ErrRequest, Err: err}
	if j != nil {
		e.Op, e.URL = j.Op.String(), j.URL.Redacted()
	}
	return e
}

// check refuses job fields that do not apply to a queue.
func check(j *job.Job, page bool) error {
	if err := j.Validate(); err != nil {
		return err
	}
	no := func(field, why string) error { return refused(j, &job.FieldError{Field: field, Reason: why}) }
	switch {
	case j.Op != fetch.OpGet && j.Op != fetch.OpStat:
		return no("op", "a queue accepts get and stat")
	case j.Output != "":
		return no("output", "a queue stores bodies by digest")
	case !page && (!j.From.IsZero() || j.Depth != 0), j.Attempt != 0, j.Depth < 0:
		return no("from", "from, depth and attempt are set by workers")
	case j.Exists != 0, j.Known != nil, j.Segments != 0, !j.IfChanged.IsZero():
		return no("exists", "a queue job has no file to compare with or to write in segments")
	}
	return nil
}

// plainJob is the JSON form of a job without fields. Most jobs have only a URL, and encoding the others
// takes longer than the rest of Key.
const plainJob = `{"url":""}`

// Key returns the key that detects duplicate jobs. It is a digest of the normalised URL, the
// operation and all other fields that affect the response. Unlike [uri.URI.Key], it includes
// the login and the scheme. The key has 40 hexadecimal digits. Results contain it.
func Key(j *job.Job) string {
	same := *j
	same.URL = uri.URI{}
	rest := []byte(plainJob)
	if !reflect.ValueOf(same).IsZero() {
		rest, _ = json.Marshal(same) // a job with an error cannot be submitted
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s", j.Op, j.URL.WithoutFragment().Normalize(), rest)
	return hex.EncodeToString(h.Sum(nil)[:20])
}

// submitWithin limits retries of a submission while the engine does not respond. It is about the
// time that NATS servers need to elect a leader after a failure.
const submitWithin = 30 * time.Second

// Submit adds a job to a queue, and returns the ID of its future result. If duplicate is true, the
// job was submitted before under another ID. While the engine is unreachable, Submit retries for
// half a minute; the job is added at most once.
func Submit(ctx context.Context, e Engine, p Priority, j *job.Job) (id string, duplicate bool, err error) {
	return newSubmission(j).submit(ctx, e, p, Key(j))
}

// SubmitAfter is Submit for a job that has a result. Last is the ID of its submission. The request is
// conditional if that result has a content and a validator. It is a duplicate only of another job that
// was submitted after the same result.
func SubmitAfter(ctx context.Context, e Engine, p Priority, j *job.Job,
	last string) (id string, duplicate bool, err error) {
	s := newSubmission(j)
	s.Last = last
	return s.submit(ctx, e, p, Key(j)+"/"+last)
}

func (s *submission) submit(ctx context.Context, e Engine, p Priority,
	key string) (id string, duplicate bool, err error) {
	data, err := s.encode(longest(e))
	if err != nil {
		return "", false, err
	}
	err = submitWithRetry(ctx, e, func(ctx context.Context, try int) error {
		duplicate, err = e.Submit(ctx, p, key, data)
		duplicate = duplicate && try == 0 // a duplicate after a lost response is the first try itself
		return err
	})
	if err != nil {
		return "", false, err
	}
	return s.ID, duplicate, nil
}

// SubmitAgain is Submit for a job that was submitted before and lost. The engine adds it even if it
// remembers the earlier submission.
func SubmitAgain(ctx context.Context, e Engine, p Priority, j *job.Job) (id string, err error) {
	s := newSubmission(j)
	data, err := s.encode(longest(e))
	if err != nil {
		return "", err
	}
	err = submitWithRetry(ctx, e, func(ctx context.Context, _ int) error {
		_, err := e.Submit(ctx, p, "again-"+s.ID, data)
		return err
	})
	return s.ID, err
}

// submitWithRetry calls submit unless the queue is draining, and retries while the engine is
// unreachable.
func submitWithRetry(ctx context.Context, e Engine, submit func(ctx context.Context, try int) error) error {
	begun := time.Now()
	for try, wait := 0, 100*time.Millisecond; ; try, wait = try+1, min(2*wait, 2*time.Second) {
		short, cancel := context.WithTimeout(ctx, operationTimeout)
		err := checkAccepts(short, e)
		if err == nil {
			err = submit(short, try)
		}
		cancel()
		if err == nil || !isTransientEngineError(err) || time.Since(begun) > submitWithin ||
			retry.Sleep(ctx, wait/2+rand.N(wait)) != nil {
			return err
		}
	}
}

func checkAccepts(ctx context.Context, e Engine) error {
	s, err := e.State(ctx)
	if err == nil && s == Draining {
		err = &fetch.Error{Code: fetch.ErrRefused, Err: ErrDraining}
	}
	return err
}

func isTransientEngineError(err error) bool {
	var e *fetch.Error
	return !errors.Is(err, ErrFull) && !errors.Is(err, ErrClosed) &&
		(errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) && e.Retry)
}
