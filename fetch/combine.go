package fetch

import (
	"cmp"
	"net"
	"runtime"
	"sync"
	"time"
)

const (
	// maxCombined limits the output that waits to be sent, in bytes.
	maxCombined = 64 << 10
	// lastWrite limits how long Close waits until the rest is sent.
	lastWrite = 50 * time.Millisecond
)

// CombineWrites makes later writes return before their output is sent, so that what several goroutines
// write at the same time is sent at once. An error of sending is that of all later writes. Close sends
// what the network accepts at once. CombineWrites is for protocols with many exchanges on a
// connection, and must be called before concurrent use.
func (c *Conn) CombineWrites() {
	if c.raw != nil { // records of TLS are sent below it
		c = c.raw
	}
	c.conn = newCombiner(c.conn)
}

type combiner struct {
	net.Conn
	mu      sync.Mutex
	changed sync.Cond // pending has room, sending has ended, or err is set
	pending []byte
	spare   []byte // an empty buffer
	sending bool   // a goroutine runs send
	closed  bool
	err     error // of sending
}

func newCombiner(c net.Conn) *combiner {
	w := &combiner{Conn: c}
	w.changed.L = &w.mu
	return w
}

// Write implements net.Conn. It waits only while there is too much output.
func (w *combiner) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && !w.closed && len(w.pending) >= maxCombined {
		w.changed.Wait()
	}
	if w.err != nil || w.closed {
		return 0, cmp.Or(w.err, net.ErrClosed)
	}
	w.pending = append(w.pending, p...)
	if !w.sending {
		w.sending = true
		go w.send()
	}
	return len(p), nil
}

// send writes pending to the connection until it is empty or a write fails.
func (w *combiner) send() {
	runtime.Gosched() // to other goroutines, which may have output
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && len(w.pending) > 0 {
		out := w.pending
		w.pending, w.spare = w.spare, nil
		w.mu.Unlock()
		_, err := w.Conn.Write(out)
		w.mu.Lock()
		w.spare, w.err = out[:0], err
		w.changed.Broadcast()
	}
	w.sending = false
	w.changed.Broadcast()
}

// Close implements net.Conn.
func (w *combiner) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed = true; w.sending {
		w.Conn.SetWriteDeadline(time.Now().Add(lastWrite))
	}
	w.changed.Broadcast()
	for w.sending {
		w.changed.Wait()
	}
	return w.Conn.Close()
}
