package exchange

import (
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
)

// Hooks are functions that connections call for a recorder. Any may be nil.
type Hooks struct {
	Peer     func(conn int, addr net.Addr, state *tls.ConnectionState)
	Lookup   func(host string, addrs []netip.Addr)
	Sent     func(conn int, p []byte)
	Received func(conn int, p []byte)
	Line     func(sent bool, line string)
	Request  func(*Variant)
}

// A Recording calls the hooks of a recorder until it ends.
type Recording struct {
	Hooks // the hooks of the recorder, which do nothing after the end of the recording

	calls sync.RWMutex // read-locked during calls, write-locked to end the recording
	ended bool

	mu    sync.Mutex
	conns map[any]int // connection numbers
}

// NewRecording returns a recording that calls h.
func NewRecording(h Hooks) *Recording {
	r := &Recording{conns: make(map[any]int)}
	r.Hooks = Hooks{Lookup: Open2(r, h.Lookup), Sent: Open2(r, h.Sent), Received: Open2(r, h.Received), Line: Open2(r, h.Line), Request: Open(r, h.Request)}
	if h.Peer != nil {
		r.Peer = func(conn int, addr net.Addr, state *tls.ConnectionState) {
			r.call(func() { h.Peer(conn, addr, state) })
		}
	}
	return r
}

// call calls f unless the recording has ended.
func (r *Recording) call(f func()) {
	r.calls.RLock()
	defer r.calls.RUnlock()
	if !r.ended {
		f()
	}
}

// Open returns a function that calls f unless r has ended, or nil if f is nil.
func Open[A any](r *Recording, f func(A)) func(A) {
	if f == nil {
		return nil
	}
	return func(a A) { r.call(func() { f(a) }) }
}

// Open2 is Open for functions with two arguments.
func Open2[A, B any](r *Recording, f func(A, B)) func(A, B) {
	if f == nil {
		return nil
	}
	return func(a A, b B) { r.call(func() { f(a, b) }) }
}

// Number returns the number of a connection in the recording, and whether it is new to it.
func (r *Recording) Number(conn any) (n int, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, ok := r.conns[conn]; ok {
		return n, false
	}
	r.conns[conn] = len(r.conns) + 1
	return len(r.conns), true
}

// End waits for calls under way, ends the recording and calls last. Later calls have no effect.
func (r *Recording) End(last func()) {
	r.calls.Lock()
	defer r.calls.Unlock()
	if !r.ended {
		r.ended = true
		last()
	}
}
