package download

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urlget/urlget/fetch"
)

var (
	// errAgain asks for another exchange at once, though none failed.
	errAgain = errors.New("ask again")
	// errOver ends a transfer that needs no content.
	errOver = errors.New("nothing to transfer")
)

// A transfer brings the content of one resource to a sink, in as many
// exchanges as it takes.
type transfer struct {
	client  *fetch.Client
	req     *fetch.Request
	opts    *Options
	retrier *retrier
	out     *sink

	object object // that which the octets in the sink are of
	done   int64  // octets in the sink
	want   int64  // octets that will be in it; -1 if unknown
	best   int64  // the most that ever were in it
	came   int64  // octets that came in this run
	last   *fetch.Response
	took   bool // take brought the content, and has tried again by itself

	// begin is called when the sink is empty and resp is to fill it. errOver
	// ends the transfer, errAgain drops the response.
	begin func(ctx context.Context, resp *fetch.Response) error
	// rewind empties the sink; nil if it cannot be emptied.
	rewind func() error
	// wrote is called after done was increased; it may be nil.
	wrote func() error
	// take may bring the content of resp and what else is missing in another
	// way, and reports whether it did; it may be nil. cancel ends resp.
	take func(ctx context.Context, resp *fetch.Response, cancel func()) (bool, error)
}

func newTransfer(c *fetch.Client, req *fetch.Request, opts *Options, s *sums) *transfer {
	t := &transfer{client: c, req: req, opts: opts, retrier: newRetrier(opts), want: -1}
	t.out = &sink{sums: s, left: -1, count: t.count}
	return t
}

func (t *transfer) count(n int64) error {
	t.done += n
	t.came += n
	t.best = max(t.best, t.done)
	if t.opts.Progress != nil {
		t.opts.Progress(t.done, t.want)
	}
	if t.wrote != nil {
		return t.wrote()
	}
	return nil
}

// run makes exchanges until all octets are there. It returns errOver if begin
// does.
func (t *transfer) run(ctx context.Context) error {
	for {
		best := t.best
		err := t.exchange(ctx)
		switch {
		case err == nil || err == errOver:
			return err
		case err == errAgain:
			continue
		case t.took:
			return err // what is there need not be a beginning to go on from
		case t.best > best:
			t.retrier.failed = 0
		}
		if err := t.retrier.again(ctx, err); err != nil {
			return err
		}
	}
}

// exchange asks once for what is missing, and copies it.
func (t *transfer) exchange(ctx context.Context) error {
	req, err := t.ask()
	if err != nil {
		return err
	}
	respCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := t.client.Do(respCtx, req)
	switch code := fetch.CodeOf(err); {
	case err == nil:
	case t.complete() && code == fetch.ErrNotModified:
		return nil
	case t.done > 0 && code == fetch.ErrRange:
		return t.startOver("the server does not have the rest", errAgain)
	default:
		return err
	}
	defer resp.Body.Close()
	if err := t.saw(resp); err != nil {
		return err
	}
	if err := t.accept(ctx, resp); err != nil || t.complete() {
		return err
	}
	if t.take != nil {
		if took, err := t.take(ctx, resp, cancel); took {
			t.took = err != errAgain
			return err
		}
	}
	return t.copy(resp)
}

// saw notes a response and tells the caller.
func (t *transfer) saw(resp *fetch.Response) error {
	t.last = resp
	if t.opts.Response != nil {
		if err := t.opts.Response(resp); err != nil {
			return &stopped{err}
		}
	}
	return nil
}

// stopped is an error of a hook. It hides what the error may say of trying
// again.
type stopped struct{ error }

func (t *transfer) complete() bool { return t.done > 0 && t.done == t.want }

// ask returns the next request.
func (t *transfer) ask() (*fetch.Request, error) {
	req := *t.req
	switch {
	case t.done == 0:
		return &req, nil
	case t.complete() && !t.object.IsZero():
		// Only whether it is still the same.
		req.Range, req.IfChanged = fetch.Range{}, t.object.Validator
		return &req, nil
	case t.object.resumable():
		req.Range.Offset += t.done
		if req.Range.Length > 0 {
			req.Range.Length -= t.done
		}
		req.IfChanged = t.object.guard()
		return &req, nil
	case t.rewind == nil:
		return nil, &fetch.Error{Code: fetch.ErrTruncated,
			Err: fmt.Errorf("after %d octets; the server gives nothing by which the rest could be recognized", t.done)}
	}
	req.IfChanged = fetch.Validator{}
	return &req, nil
}

// accept decides what of resp the sink needs. It leaves the transfer complete
// if that is nothing.
func (t *transfer) accept(ctx context.Context, resp *fetch.Response) error {
	pos := t.req.Range.Offset + t.done
	whole := resp.Range.IsZero()
	same := t.object.same(&resp.Meta)
	switch {
	case t.done == 0:
		return t.fill(ctx, resp)
	case t.complete() && whole && same:
		return nil
	case !whole && same && resp.Range.Offset == pos:
		t.out.skip, t.out.left = 0, -1
		return nil
	case !whole:
		return t.startOver("the server's answer does not show that the rest is of the same object", errAgain)
	case same && t.rewind == nil:
		// Drop what was written already.
		t.out.skip, t.out.left = pos, t.missing()
		return nil
	}
	reason := "the resource has changed"
	switch {
	case same:
		reason = "the server does not send the rest alone"
	case !t.object.resumable():
		reason = "the server gives nothing by which the rest could be recognized"
	}
	if err := t.startOver(reason, nil); err != nil {
		return err
	}
	return t.fill(ctx, resp)
}

// missing returns how many octets the request's range still lacks; -1 if all
// that come are wanted.
func (t *transfer) missing() int64 {
	if n := t.req.Range.Length; n > 0 {
		return n - t.done
	}
	return -1
}

// fill makes resp's object the one that the empty sink gets.
func (t *transfer) fill(ctx context.Context, resp *fetch.Response) error {
	asked := t.req.Range
	t.object = objectOf(&resp.Meta)
	t.want = resp.Size
	t.out.skip, t.out.left = 0, -1
	switch {
	case !resp.Range.IsZero():
		if asked.IsZero() || resp.Range.Offset != asked.Offset || asked.Length > 0 && resp.Range.Length > asked.Length {
			return &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New("the server sent a range that was not asked for")}
		}
	case !asked.IsZero():
		if t.object.size >= 0 {
			if asked.Offset >= t.object.size {
				return &fetch.Error{Code: fetch.ErrRange, Err: fmt.Errorf("there are %d octets", t.object.size)}
			}
			t.want = t.object.size - asked.Offset
			if asked.Length > 0 {
				t.want = min(t.want, asked.Length)
			}
		}
		t.out.skip, t.out.left = asked.Offset, t.missing()
	}
	return t.begin(ctx, resp)
}

// startOver forgets what has come, and returns next.
func (t *transfer) startOver(reason string, next error) error {
	if t.rewind == nil {
		return &fetch.Error{Code: fetch.ErrChanged,
			Err: fmt.Errorf("after %d octets, which cannot be taken back: %s", t.done, reason)}
	}
	if t.opts.Restart != nil {
		t.opts.Restart(reason)
	}
	t.done, t.want, t.object = 0, -1, object{}
	t.out.sums.reset()
	if err := t.rewind(); err != nil {
		return err
	}
	return next
}

// copy moves the content of resp to the sink.
func (t *transfer) copy(resp *fetch.Response) error {
	t.out.err = nil
	_, err := io.Copy(t.out, resp.Body)
	switch {
	case t.out.err == errEnough:
		err = nil
	case t.out.err != nil:
		return t.out.err
	}
	switch {
	case t.want >= 0 && t.done > t.want:
		return &fetch.Error{Code: fetch.ErrProtocol,
			Err: fmt.Errorf("%d octets came, %d were announced", t.done, t.want)}
	case err == nil && t.done < t.want:
		return &fetch.Error{Code: fetch.ErrTruncated, Retry: true,
			Err: fmt.Errorf("%d of %d octets came", t.done, t.want)}
	}
	return err
}

// finish completes err as an error of the transfer.
func (t *transfer) finish(err error) error {
	if s, ok := err.(*stopped); ok {
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

// result tells of a transfer that ended well.
func (t *transfer) result() *Result {
	r := &Result{Size: t.done, Written: t.came, SHA256: t.out.sums.hex256()}
	if t.last != nil {
		r.URL, r.Meta = t.last.URL, t.last.Meta
	}
	return r
}
