package download

import (
	"context"
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch"
)

// open requests the missing bytes and returns the response, or nil if the content is complete.
func (t *transfer) open(ctx context.Context) (*fetch.Response, error) {
	req, err := t.nextRequest()
	if err != nil {
		return nil, err
	}
	resp, err := t.client.Do(ctx, req)
	t.req.Body = nil // GetBody opens the next one
	code := fetch.CodeOf(err)
	if code == fetch.ErrNotModified {
		errors.As(err, &t.unmodified)
	}
	switch {
	case err == nil:
	case t.complete() && code == fetch.ErrNotModified:
		t.reuse("the validator matches")
		return nil, nil
	case t.byOverlap && code == fetch.ErrRange && !t.noRanges:
		t.noRanges = true // a resource that is too short for the range is requested completely
		return nil, errAgain
	case t.openEnded && code == fetch.ErrRange: // IfChanged held, so the content is complete
		t.want = t.done
		return nil, nil
	case t.done > 0 && code == fetch.ErrChanged && !t.byOverlap && !t.forwardOnly && t.distrust():
		return nil, errAgain // the server sent a range of another version
	case t.refusesResume(err):
		return nil, t.contradicted(err)
	default:
		return nil, err
	}
	t.openEnded = false
	if err = t.recordResponse(resp); err == nil {
		err = t.accept(ctx, resp)
	}
	if err != nil || t.complete() {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func (t *transfer) nextRequest() (*fetch.Request, error) {
	if t.done == 0 && !t.req.Sends() && t.req.Range.IsZero() && t.req.WantDigest == t.wantsDigest() {
		return t.req, nil // which does not change any more
	}
	req := *t.req
	req.WantDigest = t.wantsDigest()
	switch {
	case t.done == 0:
		return &req, nil
	case req.Sends():
		if err := t.startOver("the response to a request with a body cannot be resumed", nil); err != nil {
			return nil, err
		}
		return &req, nil
	case len(req.Ranges) > 0:
		if err := t.startOver("several ranges cannot be resumed", nil); err != nil {
			return nil, err
		}
		return &req, nil
	case t.needsBeginning():
		req.Range, req.IfChanged = fetch.Range{Length: t.beginningLength()}, fetch.Validator{}
		return &req, nil
	case t.byOverlap:
		return t.askOverlap(), nil
	case t.plain:
		return &req, nil
	case t.complete() && !t.object.IsZero():
		// Only check whether it has changed.
		req.Range, req.IfChanged = fetch.Range{}, t.object.Validator
		return &req, nil
	case !t.object.Guard().IsZero():
		req.Range.Offset += t.done
		if req.Range.Length > 0 {
			req.Range.Length -= t.done
		}
		req.IfChanged = t.object.Guard()
		return &req, nil
	case t.forwardOnly:
		return nil, &fetch.Error{Code: fetch.ErrTruncated,
			Err: fmt.Errorf("after %d bytes; cannot resume because the server sent no validator", t.done)}
	}
	if t.dest.unproven() != nil || (t.object.ETag != "" || len(t.stated) > 0) && t.distrust() {
		t.byOverlap = true
		return t.nextRequest()
	}
	req.IfChanged = fetch.Validator{}
	return &req, nil
}

// accept decides which part of resp the destination needs. If it needs none, the transfer is
// complete.
func (t *transfer) accept(ctx context.Context, resp *fetch.Response) error {
	if resp.Kind == fetch.KindNone && t.opts.Checksum != "" {
		return &fetch.Error{Code: fetch.ErrChecksum,
			Err: errors.New("the server reported that there is no content")}
	}
	if t.done == 0 {
		t.stated = nil
	}
	switch {
	case t.done == 0:
		return t.fill(ctx, resp)
	case t.needsBeginning():
		return t.acceptBeginning(ctx, resp)
	case t.byOverlap:
		return t.acceptOverlap(ctx, resp)
	}
	pos := t.req.Range.Offset + t.done
	whole := resp.Range.IsZero()
	v, reason := t.judge(resp)
	switch {
	case v == contradicts:
		return t.contradicted(errors.New(reason))
	case v == sameVersion && t.complete() && whole:
		t.reuse("the validator matches")
		return nil
	case v == sameVersion && !whole && resp.Range.Offset == pos:
		t.reuse("the validator matches")
		t.out.skip, t.out.left = 0, -1
		return t.addDigests(resp)
	case v == newVersion && !whole:
		return t.startOver("the response is not a range of the same version", errAgain)
	case !whole:
		return t.contradicted(errWrongRange)
	case v == sameVersion && t.forwardOnly:
		// Skip the bytes that have been written already.
		t.out.skip, t.out.left = pos, t.missingBytes()
		return nil
	case v == newVersion && t.plausible(t.object, resp) && t.distrust():
		if t.overlapFrom() == 0 {
			return t.acceptOverlap(ctx, resp)
		}
		return errAgain
	case v != newVersion && !t.object.Guard().IsZero():
		if !t.forwardOnly && t.comparable() {
			t.byOverlap = true
			return t.acceptOverlap(ctx, resp)
		}
		if v == consistent {
			return t.contradicted(errNoValidator)
		}
		reason = "the server sent the whole resource instead of a range"
	case t.object.Guard().IsZero():
		reason = "the server sent no validator"
	default:
		reason = "the resource has changed"
		t.byOverlap = true // an overlap proves nothing about the bytes before it
	}
	if err := t.startOver(reason, nil); err != nil {
		return err
	}
	return t.fill(ctx, resp)
}

// reuse reports to the caller that bytes from an earlier run belong to the resource.
func (t *transfer) reuse(proof string) {
	if t.resumed && t.opts.Reuse != nil {
		t.opts.Reuse(proof)
	}
	t.resumed = false
}

// missingBytes returns the number of missing bytes of the requested range, or -1 if the range has no
// end.
func (t *transfer) missingBytes() int64 {
	if n := t.req.Range.Length; n > 0 {
		return n - t.done
	}
	return -1
}

// fill starts to fill the empty destination with the content of resp.
func (t *transfer) fill(ctx context.Context, resp *fetch.Response) error {
	requested := t.req.Range
	t.object, t.form = fetch.VersionOf(&resp.Meta), formOf(resp)
	t.want = resp.Size
	t.out.skip, t.out.left = 0, -1
	fromEnd := requested.Offset < 0
	if fromEnd {
		var err error
		if requested, err = t.locate(resp); err != nil {
			return err
		}
	}
	switch {
	case len(t.req.Ranges) > 0: // the response is saved as it is
	case !resp.Range.IsZero():
		tooLong := requested.Length > 0 && resp.Range.Length > requested.Length
		if requested.IsZero() && !fromEnd || resp.Range.Offset != requested.Offset || tooLong {
			return &fetch.Error{Code: fetch.ErrProtocol, Err: errWrongRange}
		}
	case !requested.IsZero():
		if t.object.Size >= 0 {
			if requested.Offset >= t.object.Size {
				return &fetch.Error{Code: fetch.ErrRange,
					Err: fmt.Errorf("the resource has %d bytes", t.object.Size)}
			}
			t.want = t.object.Size - requested.Offset
			if requested.Length > 0 {
				t.want = min(t.want, requested.Length)
			}
		}
		t.out.skip, t.out.left = requested.Offset, t.missingBytes()
	}
	if err := t.addDigests(resp); err != nil {
		return err
	}
	if err := t.dest.begin(ctx, resp); err != nil {
		return err
	}
	t.sums.expect(t.stated)
	return nil
}

// locate converts the request's range, which counts from the end, to one from the beginning, using
// the size in resp.
func (t *transfer) locate(resp *fetch.Response) (fetch.Range, error) {
	requested := t.req.Range
	switch {
	case !resp.Range.IsZero() && resp.Range.Length <= -requested.Offset:
		requested = fetch.Range{Offset: resp.Range.Offset}
	case t.object.Size >= 0:
		requested = requested.Of(t.object.Size)
	default:
		return requested, &fetch.Error{Code: fetch.ErrRange, Err: fmt.Errorf(
			"the server does not report the size, so the last %d bytes cannot be located", -requested.Offset)}
	}
	t.req.Range = requested
	return requested, nil
}

var (
	errWrongRange  = errors.New("the server sent a range that was not requested")
	errNoValidator = errors.New("it has no validator")
	errDiffer      = errors.New("its beginning differs")
)

// startOver discards the transferred bytes and returns next. If an overlap may still prove that
// they belong to the resource, it returns errAgain in order to request that.
func (t *transfer) startOver(reason string, next error) error {
	if t.forwardOnly {
		return &fetch.Error{Code: fetch.ErrChanged,
			Err: fmt.Errorf("after %d bytes that are already written: %s", t.done, reason)}
	}
	if t.dest.unproven() != nil {
		if !t.byOverlap {
			t.byOverlap = true
			return errAgain
		}
		if err := t.dest.disprove(); err != nil {
			return err
		}
	}
	if t.opts.Restart != nil {
		t.opts.Restart(reason)
	}
	t.reset()
	t.sums.reset()
	if err := t.dest.rewind(); err != nil {
		return err
	}
	return next
}
