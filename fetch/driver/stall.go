package driver

import "time"

// Some servers serve one connection at a time: they accept the next one when the client has closed
// the first. Python's http.server and FTP servers with one session are examples. Such a server is
// blocked by an idle connection of the pool.
const (
	// stallDelay is how long a new connection waits for its first response before idle connections
	// of the same host are closed.
	stallDelay = time.Second
	// serialDelay limits the time between closing an idle connection and the response on another one
	// that is attributed to the close.
	serialDelay = 100 * time.Millisecond
)

// await watches a new connection until end is called, which reports whether the server responded.
// If that takes longer than stallDelay, the pool closes the idle connections of the host, and keeps
// none until then. If the server responds immediately afterwards, it probably serves one connection
// at a time, and the pool will open only one from then on. End must be called once.
func (p *idlePool) await(key any) (end func(responded bool)) {
	var (
		stalled *host // nil if it is not
		ended   bool
	)
	timer := time.AfterFunc(stallDelay, func() {
		p.mu.Lock()
		var dead []any
		if h := p.hosts[key]; !ended && h != nil {
			stalled = h
			h.stalled++
			dead = p.evict(h, len(h.idle))
			if len(dead) > 0 {
				h.yielded = time.Now()
			}
		}
		p.mu.Unlock()
		p.closeAll(dead)
	})
	return func(responded bool) {
		if timer.Stop() {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		ended = true
		if h := stalled; h != nil {
			h.stalled--
			h.serial = h.serial || responded && time.Since(h.yielded) < serialDelay
		}
	}
}
