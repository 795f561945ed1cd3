package middleware

import (
	"context"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// PerHost limits the concurrent exchanges with one host to n. Further exchanges wait until a body is
// closed. An exchange that a driver starts on behalf of another one with the same host does not
// wait. URLs without a host are not limited. PerHost panics if n is not positive.
//
// A listing or a session counts only until it is open. Otherwise, a caller that retrieves the
// members of a listing while reading it would wait for itself.
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
			if resp.Parse != nil || resp.Kind == fetch.KindSession {
				release()
			} else {
				resp.Body = fetch.OnClose(resp.Body, release)
			}
			return resp, nil
		})
	}
}

// A heldKey marks the context of an exchange that has a slot of the host.
type heldKey struct {
	hosts *hosts
	host  string
}

type hosts struct {
	max   int
	mu    sync.Mutex
	slots map[string]*slots
}

// slots limits the exchanges with one host. It is dropped when no exchange has or waits for a slot.
type slots struct {
	tokens chan struct{} // holds one element for each exchange
	users  int           // exchanges that have or wait for a slot
}

func (h *hosts) acquire(ctx context.Context, host string) (release func(), err error) {
	h.mu.Lock()
	s := h.slots[host]
	if s == nil {
		s = &slots{tokens: make(chan struct{}, h.max)}
		h.slots[host] = s
	}
	s.users++
	h.mu.Unlock()
	select {
	case s.tokens <- struct{}{}:
		return sync.OnceFunc(func() {
			<-s.tokens
			h.release(host, s)
		}), nil
	case <-ctx.Done():
		h.release(host, s)
		return nil, context.Cause(ctx)
	}
}

func (h *hosts) release(host string, s *slots) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(h.slots, host)
	}
}
