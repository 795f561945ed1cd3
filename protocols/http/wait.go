package http

import (
	"context"
	"fmt"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// maxConns limits the new connections for one request. Net/http would retry without end if a server
// accepts connections and closes each (GOAWAY) before a response.
const maxConns = 3

// A wait limits the time until the head of a response is complete. Small pieces of a head,
// informational responses and connection frames do not extend it. Sending a body may take any time
// while it makes progress: see upload. The idle timeout of an unshared connection also applies.
type wait struct {
	ctx    context.Context
	limit  time.Duration // 0 for none
	idle   time.Duration // of connections; 0 for none
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	conn  net.Conn // of the response
	fresh int      // new connections so far
	timer *time.Timer
	wrote bool // the head of the request was sent
	ended bool

	relay  bool    // the head of the response is kept
	upload *upload // monitors a request body, after which the wait starts; nil without one
}

func newWait(
	ctx context.Context, timeouts fetch.Timeouts, sending bool, cancel context.CancelCauseFunc,
) *wait {
	w := &wait{ctx: ctx, limit: timeouts.Reply, idle: idleOfConn(timeouts), cancel: cancel}
	if sending {
		w.upload = &upload{idle: timeouts.Idle, stall: func() { cancel(stalled(timeouts.Idle)) }}
	}
	return w
}

// follow returns a context for the request. Rec is called before w. Net/http could join the two
// traces, but its use of reflection costs more than both.
func (w *wait) follow(ctx context.Context, rec *record) context.Context {
	trace := &httptrace.ClientTrace{GotConn: w.connected, WroteHeaders: w.wroteHead}
	if w.upload != nil {
		trace.WroteRequest = w.wroteAll
	}
	if rec != nil {
		trace.GotConn = func(info httptrace.GotConnInfo) {
			rec.connected(info)
			w.connected(info)
		}
		if rec.exchange.Line != nil {
			trace.WroteHeaderField = rec.wroteField
		}
		if rec.exchange.Sent != nil {
			trace.WroteHeaders = func() {
				rec.wroteHead()
				w.wroteHead()
			}
		}
	}
	return httptrace.WithClientTrace(ctx, trace)
}

func (w *wait) wroteHead() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrote = true
}

// begun reports whether a server may have received part of the request.
func (w *wait) begun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrote
}

func (w *wait) wroteAll(info httptrace.WroteRequestInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if info.Err != nil { // there may be another try
		return
	}
	w.upload.end()
	if !w.ended && w.limit > 0 {
		if w.timer != nil {
			w.timer.Stop()
		}
		w.timer = time.AfterFunc(w.limit, w.expire)
	}
}

// connected records the connection of the request. The timeout starts with the first connection,
// and again with the first new one, because reused ones may have been lost long ago.
func (w *wait) connected(info httptrace.GotConnInfo) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.conn = info.Conn
	if plain, ok := info.Conn.(*plainConn); ok {
		plain.SetIdle(w.idle) // a body may have had another
	}
	if c := connOf(info.Conn); c != nil {
		c.Serve(w.ctx)
	}
	incomingOf(info.Conn).begin(w.relay)
	if !info.Reused {
		w.fresh++
	}
	if w.fresh > maxConns {
		w.cancel(&fetch.Error{Code: fetch.ErrNetwork, Retry: true,
			Err: fmt.Errorf("the server closed %d connections without a response", maxConns)})
		return
	}
	switch {
	case w.upload != nil:
		w.upload.begin(info.Conn)
	case w.limit == 0:
	case w.timer == nil:
		w.timer = time.AfterFunc(w.limit, w.expire)
	case !info.Reused && w.fresh == 1:
		w.timer.Reset(w.limit)
	}
}

func (w *wait) expire() { w.cancel(noResponse(w.limit)) }

func noResponse(limit time.Duration) error {
	return &fetch.Error{Code: fetch.ErrNetwork, Retry: true,
		Err: fmt.Errorf("no complete response within %v", limit)}
}

func (w *wait) end() net.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.upload != nil {
		w.upload.end()
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	return w.conn
}
