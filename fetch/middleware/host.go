package middleware

import (
	"context"
	"io"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// PerHost lets at most n exchanges with one host go on at the same time; the
// others wait until a body is closed. An exchange that a driver makes for
// another one, with the same host, does not wait for that. URLs without a host
// are not limited. It panics if n is not positive.
func PerHost(n int) fetch.Middleware {
	if n <= 0 {
		panic("middleware: PerHost of none")
	}
	h := &hosts{max: n, slots: make(map[string]*slots)}
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			host := req.URL.Host()
			if host == "" || ctx.Value(heldKey{h, host}) != nil {
				return next.Open(ctx, req)
			}
			release, err := h.acquire(ctx, host)
			if err != nil {
				return nil, err
			}
			resp, err := next.Open(context.WithValue(ctx, heldKey{h, host}, true), req)
			if err != nil {
				release()
				return nil, err
			}
			resp.Body = releasing(resp.Body, release)
			return resp, nil
		})
	}
}

// heldKey marks the context of an exchange that has a slot of the host.
type heldKey struct {
	hosts *hosts
	host  string
}

// hosts counts the exchanges with each host.
type hosts struct {
	max   int
	mu    sync.Mutex
	slots map[string]*slots
}

// slots are the places for the exchanges with one host. They are forgotten
// when nobody has or wants one.
type slots struct {
	taken chan struct{} // holds one for each exchange
	users int           // exchanges that have or want a place
}

func (h *hosts) acquire(ctx context.Context, host string) (release func(), err error) {
	h.mu.Lock()
	s := h.slots[host]
	if s == nil {
		s = &slots{taken: make(chan struct{}, h.max)}
		h.slots[host] = s
	}
	s.users++
	h.mu.Unlock()
	select {
	case s.taken <- struct{}{}:
		return sync.OnceFunc(func() {
			<-s.taken
			h.leave(host, s)
		}), nil
	case <-ctx.Done():
		h.leave(host, s)
		return nil, context.Cause(ctx)
	}
}

func (h *hosts) leave(host string, s *slots) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(h.slots, host)
	}
}

// releasing returns body with release called by its Close, and with the other
// abilities that callers look for.
func releasing(body io.ReadCloser, release func()) io.ReadCloser {
	c := &closer{body, release}
	switch b := body.(type) {
	case io.Writer:
		return struct {
			io.Reader
			io.Writer
			io.Closer
		}{body, b, c}
	case io.WriterTo:
		return struct {
			io.Reader
			io.WriterTo
			io.Closer
		}{body, b, c}
	}
	return c
}

type closer struct {
	io.ReadCloser
	release func()
}

func (c *closer) Close() error {
	defer c.release()
	return c.ReadCloser.Close()
}
