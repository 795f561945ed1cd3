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
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// A Submission is a job in a queue.
type Submission struct {
	// ID tells it from all others, also from those of the same job.
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	Job  *job.Job  `json:"-"`
	Page *Page     `json:"page,omitempty"` // nil if it is not a page of a crawl
}

// version is that of the encoding. Workers refuse others.
const version = 1

// encoded is the JSON of a Submission.
type encoded struct {
	Version int             `json:"v"`
	ID      string          `json:"id"`
	Time    time.Time       `json:"time"`
	Job     json.RawMessage `json:"job"`
	Page    *Page           `json:"page,omitempty"`
}

// NewSubmission returns a job as a submission of its own.
func NewSubmission(j *job.Job) *Submission {
	var id [16]byte
	crand.Read(id[:])
	return &Submission{ID: hex.EncodeToString(id[:]), Time: time.Now().UTC().Truncate(time.Millisecond), Job: j}
}

// Encode returns the JSON of s. It fails if a worker would not take it, or if it is longer than so
// many bytes.
func (s *Submission) Encode(longest int) ([]byte, error) {
	if err := check(s.Job, s.Page != nil); err != nil {
		return nil, err
	}
	text, err := json.Marshal(s.Job)
	if err != nil {
		return nil, refused(s.Job, err)
	}
	data, err := json.Marshal(encoded{version, s.ID, s.Time, text, s.Page})
	if err == nil && len(data) > longest {
		err = fmt.Errorf("a job of %d bytes, and the queue takes %d", len(data), longest)
	}
	if err != nil {
		return nil, refused(s.Job, err)
	}
	return data, nil
}

// MaxSubmission is how long the JSON of a submission may be in bytes.
const MaxSubmission = 1 << 20

// Decode reads a submission that anybody may have written, and validates it.
func Decode(data []byte) (*Submission, error) {
	if len(data) > MaxSubmission {
		return nil, refused(nil, fmt.Errorf("a job of more than %d bytes", MaxSubmission))
	}
	var e encoded
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(&e)
	switch {
	case err != nil:
		return nil, refused(nil, fmt.Errorf("no job of a queue: %w", err))
	case dec.More():
		return nil, refused(nil, errors.New("more than one job in a message"))
	case e.Version != version:
		return nil, refused(nil, fmt.Errorf("a job of version %d, and this worker knows version %d", e.Version, version))
	case !isID(e.ID):
		return nil, refused(nil, errors.New("a job without an ID of 32 hexadecimal digits"))
	}
	j, err := job.Decode(e.Job)
	if err != nil {
		return nil, err
	}
	if err := check(j, e.Page != nil); err != nil {
		return nil, err
	}
	return &Submission{e.ID, e.Time, j, e.Page}, nil
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

// check refuses what makes no sense for a job whose content is kept by its digest.
func check(j *job.Job, page bool) error {
	if err := j.Validate(); err != nil {
		return err
	}
	no := func(field, why string) error { return refused(j, &job.FieldError{Field: field, Reason: why}) }
	switch {
	case j.Op != fetch.OpGet && j.Op != fetch.OpStat:
		return no("op", "a queue takes get and stat")
	case j.Output != "":
		return no("output", "a queue keeps contents by their digests")
	case !page && (!j.From.IsZero() || j.Depth != 0), j.Attempt != 0, j.Depth < 0:
		return no("from", "from, depth and attempt are for workers to say")
	case j.Exists != 0, j.Known != nil, j.Segments != 0, !j.IfChanged.IsZero():
		return no("exists", "there is no file to compare with or to write in parts")
	}
	return nil
}

// Key returns what a queue knows a job by: two jobs with the same key within its window are one. It
// is a digest of the normalised URL, the operation and whatever else decides what comes. The URL keeps
// its login and scheme, unlike [uri.URI.Key], since both decide what a server sends.
func Key(j *job.Job) string {
	same := *j
	same.URL = uri.URI{}
	rest, err := json.Marshal(same)
	if err != nil {
		rest = nil // it cannot be submitted
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s", j.Op, j.URL.WithoutFragment().Normalize(), rest)
	return hex.EncodeToString(h.Sum(nil)[:20])
}

// submitWithin is for how long a submission is tried again while the engine does not answer: about
// as long as its servers need to agree on who leads when one of them is lost.
const submitWithin = 30 * time.Second

// Submit adds a job to a queue. Duplicate reports that it is there already. While the engine cannot
// be reached it tries again, for half a minute: whatever became of the first try, the job is added
// once.
func Submit(ctx context.Context, e Engine, p Priority, j *job.Job) (s *Submission, duplicate bool, err error) {
	s = NewSubmission(j)
	data, err := s.Encode(min(e.Limits().Message, MaxSubmission))
	if err != nil {
		return nil, false, err
	}
	key := Key(j)
	err = insist(ctx, func(ctx context.Context, try int) error {
		duplicate, err = e.Submit(ctx, p, key, data)
		duplicate = duplicate && try == 0 // one that is there after a try without an answer is that one
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return s, duplicate, nil
}

// insist submits something, and tries again while the engine cannot be reached.
func insist(ctx context.Context, submit func(ctx context.Context, try int) error) error {
	begun := time.Now()
	for try, wait := 0, 100*time.Millisecond; ; try, wait = try+1, min(2*wait, 2*time.Second) {
		short, cancel := context.WithTimeout(ctx, operation)
		err := submit(short, try)
		cancel()
		if err == nil || !mayPass(err) || time.Since(begun) > submitWithin || sleep(ctx, wait/2+rand.N(wait)) != nil {
			return err
		}
	}
}

// mayPass reports whether an engine may do in a moment what it did not do now.
func mayPass(err error) bool {
	var e *fetch.Error
	return !errors.Is(err, ErrFull) && !errors.Is(err, ErrClosed) &&
		(errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) && e.Retry)
}
