package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/pace"
)

var (
	// errAgain requests another exchange at once; it does not count as a failure.
	errAgain = errors.New("ask again")
	// errNotNeeded ends a transfer that does not need the content.
	errNotNeeded = errors.New("nothing to transfer")
)

type destination interface {
	// begin is called before the content of resp is written to the empty destination. If it returns
	// errNotNeeded, the transfer ends; if errAgain, the response is dropped.
	begin(ctx context.Context, resp *fetch.Response) error
	// rewind empties the destination.
	rewind() error
	// truncate keeps only the first n bytes.
	truncate(n int64) error
	// written is called after bytes have been written and counted in the progress.
	written() error
	// commit is called when the content is complete.
	commit() error
	// abandon is called instead of commit if the transfer failed. If keep is true, bytes that a later
	// run could resume are kept.
	abandon(keep bool)

	// unproven returns bytes of unknown origin, if an overlap may prove that they belong to the
	// resource, otherwise nil.
	unproven() io.ReaderAt
	// distrust makes unproven return the transferred bytes, if it can.
	distrust() bool
	// doubtful reports whether a wrong digest may be due to bytes that only an overlap proved, and that
	// may be discarded.
	doubtful() bool
	// prove is called when the overlap is identical.
	prove(ctx context.Context) error
	// disprove is called when the overlap differs. If it returns nil, the bytes may be discarded.
	disprove() error

	// divide is called when the missing bytes are divided, before any of them is written.
	divide() error
	// writeAt returns a writer for the bytes from offset on. There may be several at a time.
	writeAt(offset int64) (io.WriteCloser, error)
	// digest feeds all of the content to the sums.
	digest(ctx context.Context) error
}

// A transfer copies the content of a resource to a destination, in one or more exchanges.
type transfer struct {
	*progress
	client  *fetch.Client
	req     *fetch.Request
	opts    *Options
	retrier retrier
	sums    *sums
	dest    destination
	out     sink // writes to dest

	last        *fetch.Response
	unmodified  *fetch.Error // the server's "not modified" response, or nil
	forwardOnly bool         // the destination is that of Copy: it only writes
	oneStream   bool         // the server does not serve segments
	noRanges    bool         // the server does not serve the overlap as a range
	plain       bool         // the whole resource was requested because a response contradicted
	undigested  bool         // the sums lack some bytes
	exchanges   int          // copied responses
	openEnded   bool         // a complete range was received, and more may follow
}

func newTransfer(c *fetch.Client, req *fetch.Request, opts *Options, s *sums, p *progress,
	dest destination, w io.Writer) *transfer {
	t := &transfer{}
	t.init(c, req, opts, s, p, dest, w)
	return t
}

func (t *transfer) init(c *fetch.Client, req *fetch.Request, opts *Options, s *sums, p *progress,
	dest destination, w io.Writer) {
	t.progress, t.client, t.req, t.opts, t.sums, t.dest = p, c, req, opts, s, dest
	t.retrier.Policy = opts.Retry.Or(defaultRetry)
	t.out = sink{w: w, sums: s, left: -1, counter: t}
}

func (t *transfer) count(n int64) error {
	t.add(n)
	err := t.dest.written()
	if t.opts.Progress != nil {
		t.opts.Progress(t.done, t.want)
	}
	return err
}

// run retrieves the content and commits it. It returns errNotNeeded if the destination does not need it.
func (t *transfer) run(ctx context.Context) error {
	err := t.retrieve(ctx)
	if t.doubtful(err) {
		t.byOverlap = true // which proved too little
		if err = t.startOver("the digest differs", nil); err == nil {
			err = t.retrieve(ctx)
		}
	}
	if err == errNotNeeded {
		return err
	}
	if err != nil {
		t.dest.abandon(fetch.CodeOf(err) != fetch.ErrChecksum) // only a wrong digest proves the bytes wrong
		return err
	}
	err = t.dest.commit()
	if err != nil && err != errNotNeeded {
		t.dest.abandon(true)
	}
	return err
}

// retrieve performs exchanges until the content is complete, and verifies it.
func (t *transfer) retrieve(ctx context.Context) error {
	once := t.req.Body != nil && t.req.GetBody == nil
	ctx = pace.WithWindow(ctx, &t.retrier.window)
	for {
		before := t.furthest
		err := t.exchange(ctx)
		if last, ok := err.(*lastError); ok {
			return last.error
		}
		switch {
		case err == nil:
			return t.verify(ctx)
		case err == errNotNeeded:
			return err
		case err == errAgain:
			continue
		case t.furthest > before:
			t.plain = false
			t.retrier.recordProgress()
		}
		if once {
			return err
		}
		if err := t.retrier.again(ctx, err); err != nil {
			return err
		}
	}
}

// A lastError is an error that must not be retried again.
type lastError struct{ error }

// exchange requests the missing bytes once and copies them. In segments, it sends as many requests as
// necessary.
func (t *transfer) exchange(ctx context.Context) error {
	if t.missing != nil { // from an earlier run
		return t.retrieveSegments(ctx, nil, func() {})
	}
	respCtx, cancel := ctx, func() {}
	if t.opts.Segments > 1 || t.opts.Segments == AutoSegments {
		respCtx, cancel = context.WithCancel(ctx)
		defer cancel()
	}
	resp, err := t.open(respCtx)
	if resp == nil {
		return err
	}
	defer resp.Body.Close()
	if spans := t.plan(resp); spans != nil {
		t.divide(spans)
		return t.retrieveSegments(ctx, resp, cancel)
	}
	before := t.done
	t.exchanges++
	t.out.err = nil
	if t.want >= 0 && t.out.left < 0 {
		t.out.left = t.want - t.done + 1 // one more, to detect excess
	}
	_, err = io.Copy(&t.out, resp.Body)
	t.sums.wait()
	t.out.check = nil
	return t.checkEnd(resp, before, err)
}

func (t *transfer) recordResponse(resp *fetch.Response) error {
	t.last = resp
	if t.opts.Response != nil {
		err := t.opts.Response(resp)
		if failed, ok := err.(*failedAttempt); ok {
			return failed.error
		}
		if err != nil {
			return &hookError{err}
		}
	}
	return nil
}

// hookError wraps the error of a hook, so that it is not retried.
type hookError struct{ error }

// checkEnd returns the error of the exchange whose copy ended with err. There were before bytes at its
// beginning.
func (t *transfer) checkEnd(resp *fetch.Response, before int64, err error) error {
	switch {
	case t.out.err == errComplete:
		err = nil
	case t.out.err == errDiffers:
		return t.differs()
	case t.out.err != nil:
		return t.out.err
	}
	switch {
	case before > 0 && !t.forwardOnly && t.isWrong(err):
		if t.done > before {
			if err := t.dest.truncate(before); err != nil {
				return err
			}
			t.done, t.furthest, t.undigested = before, before, true
		}
		if code := fetch.CodeOf(err); code != fetch.ErrRange && code != fetch.ErrChecksum {
			t.exceed()
			err = cmp.Or(err, errTooMuch)
		}
		return t.contradicted(err)
	case err == nil && t.byOverlap && t.want < 0:
		return t.differs() // the existing bytes are longer
	case t.want >= 0 && t.done > t.want:
		t.exceed()
		return &fetch.Error{Code: fetch.ErrProtocol,
			Err: fmt.Errorf("received %d bytes, expected %d", t.done, t.want)}
	case t.complete() && fetch.CodeOf(err) == fetch.ErrProtocol:
		t.exceed()
		return &lastError{err}
	case err == nil && t.done < t.want:
		return truncated("received %d of %d bytes", t.done, t.want)
	case err == nil && t.want < 0 && t.req.Range.Length == 0 &&
		resp.Range.Offset > t.req.Range.Offset && resp.Range.Length > 0:
		t.openEnded = true // servers may send less than the rest (RFC 9110, section 15.3.7)
		return errAgain
	}
	return err
}

// isWrong reports whether the end of a response, which is err, shows that its bytes are not those that
// follow the existing ones: there are too many, its digest differs, or the driver found that the server
// ignored the offset.
func (t *transfer) isWrong(err error) bool {
	switch fetch.CodeOf(err) {
	case fetch.ErrRange, fetch.ErrChecksum:
		return true
	case fetch.ErrProtocol:
		return t.complete()
	}
	return t.want >= 0 && t.done > t.want
}

// truncated returns an error after which the rest is requested.
func truncated(format string, args ...any) error {
	return &fetch.Error{Code: fetch.ErrTruncated, Retry: true, Err: fmt.Errorf(format, args...)}
}

var errTooMuch = errors.New("it has more bytes than announced")

// finish completes err as an error of the transfer.
func (t *transfer) finish(err error) error {
	if s, ok := err.(*hookError); ok {
		return s.error
	}
	e, ok := err.(*fetch.Error)
	if !ok {
		e = &fetch.Error{Op: "save", Code: fetch.ErrFile, Err: err}
	}
	dup := *e
	if dup.Op == "" {
		dup.Op = "get"
	}
	if dup.URL == "" {
		dup.URL = t.req.URL.Redacted()
	}
	if dup.Reply.IsZero() && dup.Code == fetch.ErrProtocol && t.last != nil {
		dup.Reply = t.last.Reply
	}
	return &dup
}

func (t *transfer) result() *Result {
	r := &Result{Outcome: Saved, Size: t.done, Written: t.received, SHA256: t.sums.hex256(), Proof: t.proof()}
	if t.last != nil {
		r.URL, r.Meta = t.last.URL, t.last.Meta
	}
	if e := t.unmodified; e != nil {
		r.URL, r.Meta.Reply = t.req.URL, e.Reply
		if u, err := uri.Parse(e.URL); err == nil && e.URL != t.req.URL.Redacted() {
			r.URL = u.WithoutUserinfo()
		}
	}
	return r
}

// failed returns the Result after an error: nil if nothing was transferred.
func (t *transfer) failed(name string) *Result {
	if t.received == 0 {
		return nil
	}
	return &Result{Name: name, Size: -1, Written: t.received}
}

// asError returns err as an error about the caller's arguments.
func asError(err error, req *fetch.Request) error {
	e := &fetch.Error{Op: "save", Code: fetch.ErrRequest, URL: req.URL.Redacted(), Err: err}
	if err == errLongName {
		e.Code = fetch.ErrFile
	}
	return e
}
