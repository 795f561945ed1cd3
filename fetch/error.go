package fetch

import (
	"context"
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// asError returns err as the *Error that a caller gets for op on u. It completes a copy of a
// driver's *Error, because drivers may return the same one twice.
func asError(op string, u uri.URI, err error) *Error {
	e, ok := err.(*Error)
	if ok {
		dup := *e
		e = &dup
	} else {
		code, retry := driver.Classify(err)
		e = &Error{Code: code, Retry: retry, Err: err}
	}
	if e.Op == "" {
		e.Op = op
	}
	if e.URL == "" {
		e.URL = u.Redacted()
	}
	if e.Code == "" {
		e.Code, _ = driver.Classify(e.Err)
	}
	return e
}

// contextError replaces a failure that may be due to the end of ctx by the reason that ctx ended.
// Errors that come from a server's answer or from a rule are left alone.
func contextError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil {
		return err
	}
	if !errors.Is(err, cause) {
		switch code, _ := driver.Classify(err); code {
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

// ContextError returns the error for work that was abandoned because ctx ended, or nil if it has
// not. If context.Cause has a class, that is the error; otherwise the class is ErrNetwork for a
// deadline and ErrInterrupted for a cancellation.
func ContextError(ctx context.Context) error { return contextError(ctx, context.Cause(ctx)) }
