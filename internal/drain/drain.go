// Package drain serves HTTP until a context ends, and lets the handlers that run then finish.
package drain

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// grace is the time in which handlers may finish by themselves, and again the time in which they end
// after their contexts have ended. A client may have its whole answer while the handler still records
// it. Both are over within the second that a program has after a signal.
const grace = time.Second / 2

// Serve serves clients on l with server until ctx ends, and closes both. The contexts of requests have
// the values of ctx, but they end later: the handlers that run then have half a second to finish. New
// requests are refused meanwhile. Serve returns the error of [http.Server.Serve], or nil if ctx has
// ended. It sets the fields Handler and BaseContext of server.
func Serve(ctx context.Context, server *http.Server, l net.Listener) error {
	base, end := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), stopKey{}, ctx))
	defer end()
	h := &handlers{next: server.Handler}
	server.Handler = h
	server.BaseContext = func(net.Listener) context.Context { return base }
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		l.Close()
		server.SetKeepAlivesEnabled(false)
		h.wait()
		defer func() { <-served }()
	}
	end()
	server.Close()
	h.wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

type stopKey struct{}

// Until returns the context of a request that [Serve] serves, which ends at once when the server stops.
// It is for connections that have no end of their own.
func Until(ctx context.Context) (context.Context, context.CancelFunc) {
	until, cancel := context.WithCancel(ctx)
	stop, ok := ctx.Value(stopKey{}).(context.Context)
	if !ok {
		return until, cancel
	}
	remove := context.AfterFunc(stop, cancel)
	return until, func() { remove(); cancel() }
}

// handlers counts the calls of a handler.
type handlers struct {
	next http.Handler

	mu      sync.Mutex
	stopped bool           // guarded by mu
	running sync.WaitGroup // mu guards Add
}

func (h *handlers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.enter() {
		http.Error(w, "the server is stopping", http.StatusServiceUnavailable)
		return
	}
	defer h.running.Done()
	h.next.ServeHTTP(w, r)
}

func (h *handlers) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.stopped {
		h.running.Add(1)
	}
	return !h.stopped
}

// wait refuses new calls, and waits for the present ones, but not longer than grace.
func (h *handlers) wait() {
	h.mu.Lock()
	h.stopped = true
	h.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		h.running.Wait()
		close(ended)
	}()
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
	}
}
