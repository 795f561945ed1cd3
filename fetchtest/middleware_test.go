package fetchtest

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
)

// change returns a middleware that changes responses.
func change(f func(*fetch.Response)) func() fetch.Middleware {
	return func() fetch.Middleware {
		return func(next fetch.Driver) fetch.Driver {
			return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				resp, err := next.Open(ctx, req)
				if err == nil {
					f(resp)
				}
				return resp, err
			})
		}
	}
}

// brokenMiddleware maps each bug of a middleware to the cases that it fails.
var brokenMiddleware = map[string]struct {
	wrap  func() fetch.Middleware
	fails []string
}{
	"changes nothing": {change(func(*fetch.Response) {}), nil},
	"drops the terminal": {change(func(r *fetch.Response) {
		if w, ok := r.Body.(io.Writer); ok {
			r.Body = struct {
				io.ReadCloser
				io.Writer
			}{r.Body, w}
		}
	}), []string{"Session"}},
	"drops the writer": {change(func(r *fetch.Response) { r.Body = struct{ io.ReadCloser }{r.Body} }), []string{"Session", "PlainSession"}},
	"makes terminals": {change(func(r *fetch.Response) {
		if w, ok := r.Body.(io.ReadWriteCloser); ok {
			if _, ok := w.(fetch.Terminal); !ok {
				r.Body = &session{ReadWriter: w, Closer: w}
			}
		}
	}), []string{"PlainSession"}},
	"loses the entries": {change(func(r *fetch.Response) { r.Parse = nil }), []string{"Listing", "Members"}},
	"loses the name":    {change(func(r *fetch.Response) { r.Name = "" }), []string{"Object"}},
	"keeps bodies open": {change(func(r *fetch.Response) {
		if r.Kind == fetch.KindObject {
			r.Body = io.NopCloser(r.Body)
		}
	}), []string{"Object", "Request", "Close", "Members"}},
	"hides errors": {func() fetch.Middleware {
		return func(next fetch.Driver) fetch.Driver {
			return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				resp, err := next.Open(ctx, req)
				if err != nil {
					err = errors.New("something went wrong")
				}
				return resp, err
			})
		}
	}, []string{"Error"}},
	"changes the request": {func() fetch.Middleware {
		return func(next fetch.Driver) fetch.Driver {
			return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				req.Range = fetch.Range{}
				return next.Open(ctx, req)
			})
		}
	}, []string{"Request"}},
	"loses the context": {func() fetch.Middleware {
		return func(next fetch.Driver) fetch.Driver {
			return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				fresh, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
				defer cancel()
				return next.Open(fresh, req)
			})
		}
	}, []string{"Request"}},
	"lets one go at a time, listings too": {func() fetch.Middleware { return oneAtATime(false) }, []string{"Members"}},
	"counts failures for ever":            {func() fetch.Middleware { return oneAtATime(true) }, []string{"Error", "Members"}},
}

// oneAtATime returns a middleware that starts an exchange after the previous one was closed. If
// failures is set, it never starts one after a failure.
func oneAtATime(failures bool) fetch.Middleware {
	busy := make(chan struct{}, 1)
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			select {
			case busy <- struct{}{}:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			resp, err := next.Open(ctx, req)
			if err != nil {
				if !failures {
					<-busy
				}
				return nil, err
			}
			resp.Body = fetch.OnClose(resp.Body, func() { <-busy })
			return resp, nil
		})
	}
}

func TestRunMiddlewareFindsBugs(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for bug, tt := range brokenMiddleware {
		all.Go(func() {
			t.Run(bug, func(t *testing.T) {
				var failed []string
				messages := ""
				for _, c := range middlewareCases {
					timeout := 20 * time.Second
					if slices.Contains(tt.fails, c.name) {
						timeout = 200 * time.Millisecond // it may hang
					}
					r := record(t, func(r *recorder) { c.test(r, tt.wrap(), timeout) })
					if bad, _, text := r.result(); bad {
						failed = append(failed, c.name)
						messages += c.name + ": " + text
					}
				}
				if !slices.Equal(failed, tt.fails) {
					t.Errorf("fails %q, want %q\n%s", failed, tt.fails, messages)
				}
			})
		})
	}
	all.Wait()
}

func TestRunMiddleware(t *testing.T) {
	t.Parallel()
	RunMiddleware(t, brokenMiddleware["changes nothing"].wrap)
}
