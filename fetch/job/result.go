package job

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// An Outcome is the outcome of a job.
type Outcome = download.Outcome

// The outcomes of jobs.
const (
	Saved             = download.Saved     // the content was saved
	Unchanged         = download.Unchanged // the existing file is as recent as the resource, or the same
	Skipped           = download.Skipped   // the file exists and was kept, because of download.Skip
	NoContent         = download.NoContent // the server reported that there is no content; no file is created
	Listed    Outcome = "listed"           // the entries of a listing or a pattern were processed
	Described Outcome = "described"        // fetch.OpStat succeeded
	Taken     Outcome = "taken"            // Hooks.Response consumed the content, see ErrTaken
	Failed    Outcome = "failed"           // Class and the following fields describe the error
)

// A Result is the result of a job. It never contains a password, except in Err.
type Result struct {
	// These are copied from the Job. Passwords in URLs are masked.
	URL     string   `json:"url"`
	Op      fetch.Op `json:"op,omitzero"`
	From    string   `json:"from,omitempty"`
	Depth   int      `json:"depth,omitempty"`
	Attempt int      `json:"attempt,omitempty"`

	Outcome Outcome `json:"outcome"`
	// Started is the time when the job began, and Elapsed its duration. In JSON, Elapsed is a number
	// of seconds, named seconds.
	Started time.Time     `json:"started,omitzero"`
	Elapsed time.Duration `json:"-"`

	// These come from the last response. FinalURL, if different from URL, is the URL of that response
	// or of the failure.
	FinalURL    string    `json:"final_url,omitempty"`
	Kind        string    `json:"kind,omitempty"` // see fetch.Kind
	ContentType string    `json:"content_type,omitempty"`
	ETag        string    `json:"etag,omitempty"`
	ModTime     time.Time `json:"mtime,omitzero"`
	Status      int       `json:"status,omitempty"` // 0 in protocols without status codes
	Reply       string    `json:"reply,omitempty"`  // with its status code, on one line
	// Capture is set if the content comes from an archive.
	Capture *fetch.Capture `json:"capture,omitempty"`

	// Path is the path of the file relative to the root, with slashes; "" if there is none.
	Path string `json:"path,omitempty"`
	// Unfinished is the path that the complete file of a failed job would have had; "" if unknown.
	Unfinished string `json:"-"`
	// Size is the size of the content in bytes, or -1 if unknown. In JSON it is named bytes.
	// Received is the number of bytes received in this run.
	Size     int64  `json:"-"`
	Received int64  `json:"received,omitempty"`
	SHA256   string `json:"sha256,omitempty"` // of the content, in hexadecimal; see Runner.SHA256
	// Proof is the digest that the content was verified with (see download.Result), or nil.
	Proof *fetch.Digest `json:"proof,omitempty"`
	// FramedByClose is set if only the end of the connection marked the end of the saved content, and no
	// digest verified it: a part of it would look the same.
	FramedByClose bool `json:"framed_by_close,omitempty"`
	// Entries is the number of entries of a listing that were processed.
	Entries int64 `json:"entries,omitempty"`

	// These are set if the outcome is Failed. Class is empty if a hook returned an error of another
	// type. Retry means that the same job may succeed later, and RetryAfter is the pause that the
	// server requested. In JSON, RetryAfter is a number of seconds, named retry_after.
	Class      fetch.Code    `json:"class,omitempty"`
	Message    string        `json:"message,omitempty"` // on one line
	Hint       string        `json:"hint,omitempty"`    // a suggestion for the user
	Reason     fetch.Reason  `json:"reason,omitzero"`   // the cause, for programs
	Retry      bool          `json:"retry,omitempty"`
	RetryAfter time.Duration `json:"-"`
	// Err is the error. It is not part of the JSON.
	Err error `json:"-"`
}

type resultJSON struct {
	*plainResult
	Bytes      *int64  `json:"bytes,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
	RetryAfter float64 `json:"retry_after,omitempty"`
}

type plainResult Result

// MarshalJSON implements [json.Marshaler].
func (r Result) MarshalJSON() ([]byte, error) {
	v := resultJSON{plainResult: (*plainResult)(&r),
		Seconds: r.Elapsed.Seconds(), RetryAfter: r.RetryAfter.Seconds()}
	if r.Size >= 0 {
		v.Bytes = &r.Size
	}
	return json.Marshal(v)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Result) UnmarshalJSON(data []byte) error {
	v := resultJSON{plainResult: (*plainResult)(r)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	r.Size = -1
	if v.Bytes != nil {
		r.Size = *v.Bytes
	}
	r.Elapsed, r.RetryAfter = duration(v.Seconds), duration(v.RetryAfter)
	return nil
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func newResult(j *Job) *Result {
	r := &Result{URL: j.URL.Redacted(), Op: j.Op, Depth: j.Depth, Attempt: j.Attempt,
		Started: time.Now(), Size: -1}
	if !j.From.IsZero() {
		r.From = j.From.Redacted()
	}
	return r
}

func (r *Result) recordResponse(resp *fetch.Response) {
	r.Kind, r.ContentType, r.ETag, r.ModTime = resp.Kind.String(), resp.ContentType, resp.ETag, resp.ModTime
	r.Capture = resp.Capture
	r.setReply(resp.Reply)
	r.setFinal(resp.URL.Redacted())
}

func (r *Result) setReply(reply fetch.Reply) {
	r.Status, r.Reply = reply.Code, ""
	if !reply.IsZero() {
		r.Reply = reply.String()
	}
}

func (r *Result) setFinal(redacted string) {
	if r.FinalURL = redacted; redacted == r.URL {
		r.FinalURL = ""
	}
}

func (r *Result) recordDownload(d *download.Result) {
	r.Outcome, r.Path, r.Size, r.Received = d.Outcome, d.Name, d.Size, d.Written
	r.SHA256, r.Proof = d.SHA256, d.Proof
	r.FramedByClose = d.Outcome == download.Saved && d.Proof == nil && d.Meta.Framing == fetch.FramedByClose
	switch d.Outcome {
	case NoContent:
		r.Size = 0
	case Unchanged:
		if !d.Meta.Reply.IsZero() {
			r.setReply(d.Meta.Reply)
			r.setFinal(d.URL.Redacted())
		}
	}
}

func (r *Result) recordUnmodified(err error) {
	r.Outcome = Unchanged
	if e, ok := errors.AsType[*fetch.Error](err); ok {
		r.setReply(e.Reply)
		if e.URL != "" {
			r.setFinal(e.URL)
		}
	}
}

func (r *Result) end(err error) {
	r.Elapsed = time.Since(r.Started)
	if err == nil {
		return
	}
	r.Outcome, r.Err, r.Class, r.Message = Failed, err, fetch.CodeOf(err), fetch.Printable(err.Error())
	e, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return
	}
	r.Message, r.Hint, r.Reason, r.Retry, r.RetryAfter = e.Message(), e.Hint, e.Reason, e.Retry, e.RetryAfter
	if !e.Reply.IsZero() {
		r.setReply(e.Reply)
	}
	if e.URL != "" {
		r.setFinal(e.URL)
	}
}
