package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// asError returns err as the *Error that the caller gets for op on u. It completes a copy of a
// driver's *Error, because drivers may return the same one twice.
func asError(op string, u uri.URI, err error) *Error {
	e, ok := err.(*Error)
	if ok {
		dup := *e
		e = &dup
	} else {
		code, retry := Classify(err)
		e = &Error{Code: code, Retry: retry, Err: err}
	}
	if e.Op == "" {
		e.Op = op
	}
	if e.URL == "" {
		e.URL = u.Redacted()
	}
	if e.Code == "" {
		e.Code, _ = Classify(e.Err)
	}
	return e
}

// defaultMaxErrorBody is used if Options.MaxErrorBody is 0.
const defaultMaxErrorBody = 4 << 10

// limitErrorBody returns e with Body cut to Options.MaxErrorBody. The copy lets the rest be freed.
func (c *Client) limitErrorBody(e *Error) *Error {
	most := max(cmp.Or(c.opts.MaxErrorBody, defaultMaxErrorBody), 0)
	if len(e.Body) <= most {
		return e
	}
	dup := *e
	dup.Body, dup.Partial = bytes.Clone(e.Body[:most]), true
	return &dup
}

// contextError replaces err by the cause of the end of ctx, if that may be why the operation
// failed. Errors reported by the server or by a rule are not changed.
func contextError(ctx context.Context, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		awaitDeadline(ctx) // which the system has noticed first
	}
	cause := context.Cause(ctx)
	if cause == nil {
		return err
	}
	if !errors.Is(err, cause) {
		switch code, _ := Classify(err); code {
		case "", ErrNetwork, ErrTLS, ErrTruncated, ErrProtocol:
		default:
			return err
		}
		err = fmt.Errorf("%w: %w", cause, err)
	}
	if CodeOf(cause) != "" {
		return err
	}
	e := &Error{Code: ErrInterrupted, Err: err}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Code, e.Retry = ErrNetwork, true
	}
	return e
}

// awaitDeadline waits until ctx is done if its deadline has passed.
func awaitDeadline(ctx context.Context) {
	if at, ok := ctx.Deadline(); ok && !time.Now().Before(at) {
		<-ctx.Done()
	}
}

// ContextError returns the error for an operation that ended because ctx is done, or nil if ctx is
// not done. If context.Cause(ctx) has a Code, ContextError returns the cause. Otherwise the Code is
// ErrNetwork for a deadline and ErrInterrupted for a cancellation.
func ContextError(ctx context.Context) error { return contextError(ctx, context.Cause(ctx)) }
