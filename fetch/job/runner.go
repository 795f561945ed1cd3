package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// A Runner runs jobs. It is safe for concurrent use. After the last job that saves a file, call
// Flush of the Downloader.
type Runner struct {
	// Downloader holds the client and, if jobs save files, the root directory.
	Downloader *download.Downloader
	// Retry, SHA256 and ResumePart are as in download.Options, except that Hooks.Retry replaces Retry.Report.
	// Retry also applies to metadata and to listings, until a hook has received the first entry.
	Retry      retry.Policy
	SHA256     bool
	ResumePart bool
}

// Hooks are callbacks of a running job. Nil functions are not called. Calls for the same job do not
// overlap.
type Hooks struct {
	// Writer receives the content instead of a file: each byte once, in order, all from the same
	// version of the resource (see download.Downloader.Copy). It is required if Job.Output is "-".
	// After a failure it may have received part of the content. A content-addressed store can write
	// a temporary file and name it after Result.SHA256 if the outcome is Saved.
	Writer io.Writer

	// Response is called with each response before its content is read, including responses that
	// resume a transfer or were retried. For fetch.OpStat, Body is empty. Response may observe the
	// content with Tee, or change it as download.Options.Response describes. It may also read Body
	// or Entries itself and return ErrTaken. Any other error ends the job.
	Response func(*fetch.Response) error
	// Redirect is called with the target of each redirect before it is followed, as fetch.Request.Redirect.
	// An error ends the job.
	Redirect func(to uri.URI) error
	// Listing is called with the response if it is a listing (see Job.Output). For fetch.OpList, it
	// is also called with a document, whose Entries are its links. It reads Entries or, if Entries
	// is nil, Body. An error ends the job.
	Listing func(*fetch.Response) error
	// Match is called with a job for each resource that matches a pattern, as the listing arrives.
	// For a directory, Op is fetch.OpList. An error ends the job of the pattern.
	//
	// Without Match, the Runner runs these jobs itself, one after another, and skips directories. The
	// job of the pattern then fails with the first error of a match.
	//
	// A long listing stays open, on a connection of its own, while Match runs.
	Match func(*Job) error

	// Progress is called as bytes arrive. Done is the number of bytes so far, including those of an
	// earlier run; total is the expected number, or -1. It must be quick.
	Progress func(done, total int64)
	// Retry is called before waiting to retry, with the number of consecutive failures, the time to
	// wait, and the error.
	Retry func(failed int, wait time.Duration, err error)
	// Reuse is called when bytes from an earlier run have been found to belong to the resource,
	// with the proof.
	Reuse func(proof string)
	// Restart is called when a transfer, of this or an earlier run, cannot be resumed and starts
	// over.
	Restart func(reason string)
}

// ErrTaken is returned by Hooks.Response if it has consumed the content. No file is saved, and the
// outcome is Taken.
var ErrTaken = errors.New("job: response consumed by Hooks.Response")

// errFollowed ends a download whose response was a listing that follow processed.
var errFollowed = errors.New("the listing was followed")

type jobKey struct{}

// FromContext returns the job that a request belongs to. The contexts of a Runner reach the client's
// middleware, recorder and credentials. For any other context, FromContext returns nil.
func FromContext(ctx context.Context) *Job {
	j, _ := ctx.Value(jobKey{}).(*Job)
	return j
}

// Run runs one job. If ctx is done, the job fails. H may be nil. The job must not be modified while
// it runs.
func (r *Runner) Run(ctx context.Context, j *Job, h *Hooks) *Result {
	if h == nil {
		h = &Hooks{}
	}
	u := &run{Runner: r, Hooks: h, job: j, client: r.Downloader.Client, result: newResult(j)}
	ctx = context.WithValue(ctx, jobKey{}, j)
	req, err := j.Request()
	if err == nil {
		req.Redirect = h.Redirect
	}
	switch {
	case err != nil:
	case req.Op == fetch.OpStat:
		err = u.stat(ctx, req)
	case req.Op == fetch.OpList:
		err = u.list(ctx, req)
	default:
		err = u.get(ctx, req)
	}
	switch {
	case errors.Is(err, ErrTaken):
		u.result.Outcome, err = Taken, nil
	case fetch.CodeOf(err) == fetch.ErrNotModified:
		u.result.recordUnmodified(err)
		err = nil
	}
	u.result.end(err)
	return u.result
}

type run struct {
	*Runner
	*Hooks
	job    *Job
	client *fetch.Client
	result *Result
}

func (u *run) recordResponse(resp *fetch.Response) error {
	u.result.recordResponse(resp)
	if u.Response != nil {
		return u.Response(resp)
	}
	return nil
}

func (u *run) policy() retry.Policy {
	p := u.Runner.Retry
	p.Report = u.Hooks.Retry
	return p
}

func (u *run) retry(ctx context.Context, f func() error) error {
	return download.Retry(ctx, u.policy(), f)
}

func (u *run) stat(ctx context.Context, req *fetch.Request) error {
	var resp *fetch.Response
	err := u.retry(ctx, func() (err error) {
		resp, err = u.client.Stat(ctx, req)
		return err
	})
	if err != nil {
		return err
	}
	u.result.Outcome, u.result.Size = Described, resp.Size
	return u.recordResponse(resp)
}

func (u *run) list(ctx context.Context, req *fetch.Request) error {
	var hookErr error // the error of a hook, which is not retried
	err := u.retry(ctx, func() error {
		hookErr = nil
		l := &links.Lister{Client: u.client, Response: func(resp *fetch.Response) error {
			hookErr = u.recordResponse(resp)
			return hookErr
		}}
		resp, err := l.List(ctx, req)
		switch {
		case hookErr != nil:
			return nil
		case err != nil:
			return err
		}
		defer resp.Body.Close()
		hookErr = u.listing(resp)
		return nil
	})
	return cmp.Or(err, hookErr)
}

// begin reads the first entry of a listing, so that a failure before it can be retried. The caller
// must call stop when the entries are no longer needed.
func begin(resp *fetch.Response) (stop func(), err error) {
	if resp.Entries == nil {
		return func() {}, nil
	}
	next, stop := iter.Pull2(resp.Entries)
	first, err, ok := next()
	if err != nil {
		stop()
		return nil, err
	}
	resp.Entries = func(yield func(fetch.Entry, error) bool) {
		var err error
		for e := first; ok; e, err, ok = next() {
			if !yield(e, err) {
				return
			}
		}
	}
	return stop, nil
}

// listing passes resp to the hook or, without a hook, counts its entries.
func (u *run) listing(resp *fetch.Response) error {
	u.result.Outcome = Listed
	if resp.Entries != nil {
		resp.Entries = u.countEntries(resp.Entries)
	}
	if u.Listing != nil {
		return u.Listing(resp)
	}
	for _, err := range resp.Entries {
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *run) countEntries(entries iter.Seq2[fetch.Entry, error]) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for e, err := range entries {
			if err == nil {
				u.result.Entries++
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (u *run) get(ctx context.Context, req *fetch.Request) error {
	dir, name := u.job.file()
	opts := &download.Options{
		Dir:      dir,
		Exists:   u.job.Exists,
		Known:    u.job.Known,
		Retry:    u.policy(),
		Segments: u.job.Segments,
		Checksum: u.job.Checksum,
		SHA256:   u.SHA256,

		ResumePart: u.ResumePart,
		Progress:   u.Progress,
		Reuse:      u.Reuse,
		Restart:    u.Restart,
		Response: func(resp *fetch.Response) error {
			if err := u.recordResponse(resp); err != nil {
				return err
			}
			return u.follow(ctx, resp)
		},
	}
	var res *download.Result
	var err error
	switch {
	case u.Writer != nil:
		res, err = u.Downloader.Copy(ctx, req, u.Writer, opts)
	case u.job.Output == "-":
		err = u.fail("save", fetch.ErrRequest, &FieldError{"output", "requires Hooks.Writer"})
	case u.Downloader.Root == nil:
		err = u.fail("save", fetch.ErrRequest, &FieldError{"output", "requires a directory for files"})
	default:
		res, err = u.Downloader.Do(ctx, req, name, opts)
	}
	if err == errFollowed {
		return nil
	}
	switch {
	case err == nil:
		u.result.recordDownload(res)
	case res != nil:
		u.result.Received, u.result.Unfinished = res.Written, res.Name
	}
	return err
}

// checkSlash returns an error for a directory whose URL has no trailing slash, as if it were a file.
func (u *run) checkSlash(resp *fetch.Response) error {
	if len(resp.Via) > 0 || resp.URL.Path() != u.job.URL.Path()+"/" {
		return nil
	}
	return u.fail("get", fetch.ErrRefused, fmt.Errorf("it is a directory: %s", resp.URL.Redacted()))
}

// follow processes a listing that is not saved, and then returns errFollowed. For any other response
// it returns nil.
func (u *run) follow(ctx context.Context, resp *fetch.Response) error {
	if resp.Kind != fetch.KindListing {
		return nil
	}
	if u.job.namesFile() {
		return u.checkSlash(resp)
	}
	pattern := resp.Pattern && resp.Entries != nil
	if !pattern && u.Listing == nil {
		return nil
	}
	stop, err := begin(resp)
	if err != nil {
		return download.Again(err)
	}
	defer stop()
	if pattern {
		err = u.matches(ctx, resp)
	} else {
		err = u.listing(resp)
	}
	if err == nil {
		err = errFollowed
	}
	return err
}

func (u *run) fail(op string, code fetch.Code, err error) error {
	return &fetch.Error{Op: op, URL: u.job.URL.Redacted(), Code: code, Err: err}
}
