// Package memento retrieves resources as they were at a date, from archives that support Memento (RFC
// 7089).
package memento

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urlget/urlget/fetch"
)

// Options configure a Middleware.
type Options struct {
	// Client sends requests to the TimeGates, without credentials. It must not have the middleware
	// itself.
	Client *fetch.Client
	// TimeGates are the URLs of TimeGates (RFC 7089, section 4). The requested URL is inserted for
	// "{}", or appended. They are asked in order until one has a capture.
	TimeGates []string
	// At returns the date that a request is for. If it is zero, the request is passed on.
	At func(context.Context) time.Time
	// Within limits the time between the date and that of the capture. 0 means no limit.
	Within time.Duration
}

var errNotGet = errors.New("an archive only has the results of GET requests")

// Middleware returns a middleware that answers requests for a date with the nearest capture that a
// TimeGate has, and never with the current version. It must be the innermost one. A captured error is
// returned as an error, a captured redirect as a redirect, so that its target is retrieved as of the
// date, too. Without a capture, the error is of class fetch.ErrNotFound. Responses have Meta.Capture.
func Middleware(opts Options) fetch.Middleware {
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			at := opts.At(ctx)
			if at.IsZero() {
				return next.Open(ctx, req)
			}
			if req.Op == fetch.OpDial || req.Form != nil || req.Sends() {
				return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: errNotGet}
			}
			return opts.ask(ctx, req, at)
		})
	}
}

// ask asks the TimeGates in turn. If all fail, the error is the first one other than ErrNotFound.
func (o *Options) ask(ctx context.Context, req *fetch.Request, at time.Time) (*fetch.Response, error) {
	nothing := fmt.Errorf("no capture of %s is known", at.UTC().Format(time.DateOnly))
	failure := error(&fetch.Error{Code: fetch.ErrNotFound, Err: nothing})
	for _, gate := range o.TimeGates {
		resp, err := o.askOne(ctx, req, gate, at)
		switch _, captured := errors.AsType[*capturedError](err); {
		case err == nil:
			return resp, nil
		case ctx.Err() != nil, captured:
			return nil, err
		case fetch.CodeOf(failure) == fetch.ErrNotFound:
			failure = err
		}
	}
	return nil, failure
}

type capturedError struct {
	capture *fetch.Capture
	cause   error // what the error response says
}

func (e *capturedError) Error() string {
	text := "captured on " + e.capture.String()
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *capturedError) Unwrap() error { return e.cause }

func (o *Options) askOne(
	ctx context.Context, req *fetch.Request, gate string, at time.Time,
) (*fetch.Response, error) {
	u, err := gateURL(gate, req.URL)
	if err != nil {
		return nil, fetch.ErrURL.Errorf("the TimeGate %s: %w", gate, err)
	}
	s := search{o: o, req: req, at: at, gate: u, url: u}
	return s.run(ctx)
}
