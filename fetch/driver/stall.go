package driver

import "time"

// Some servers serve one connection at a time: they accept the next one when the client has closed
// the first. Python's http.server and FTP servers with one session are examples. Such a server is
// blocked by an idle connection of the pool.
const (
	// stallDelay is how long a new connection waits for its first response before idle connections
	// of the same server are closed.
	stallDelay = time.Second
	// serialDelay limits the time between closing an idle connection and the response on another one
	// that is attributed to the close.
	serialDelay = 100 * time.Millisecond
)

// await watches a new connection until end is called, which reports whether the server responded.
// If that takes longer than stallDelay, the pool closes the idle connections of the server, and keeps
// none until then. If the server responds immediately afterwards, and does so again the next time, it
// probably serves one connection at a time, and the pool will open only one from then on. A server
// that has responded while another connection was idle does not. End must be called once.
func (p *idlePool[K, C]) await(key K) (end func(responded bool)) {
	p.mu.Lock()
	s := p.host(key).server
	p.mu.Unlock()
	var stalled, ended bool
	timer := time.AfterFunc(stallDelay, func() {
		p.mu.Lock()
		var dead []C
		if !ended {
			stalled = true
			s.stalled++
			dead = p.evictServer(s)
			if len(dead) > 0 {
				s.yielded = time.Now()
			}
		}
		p.mu.Unlock()
		p.closeAll(dead)
	})
	return func(responded bool) {
		timer.Stop()
		p.mu.Lock()
		defer p.mu.Unlock()
		ended = true
		if stalled {
			s.stalled--
		}
		if responded && !s.concurrent {
			s.concurrent = p.keepsIdle(s)
			if stalled && time.Since(s.yielded) < serialDelay {
				s.yields++
			}
			s.serial = s.yields >= 2 && !s.concurrent
		}
	}
}
