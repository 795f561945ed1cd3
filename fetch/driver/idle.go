package driver

import (
	"slices"
	"time"
)

// The methods in this file require p.mu. Callers must close the returned connections without
// holding the lock.

// put passes conn to the longest waiter or, if there is none, keeps it idle.
func (p *idlePool[K, C]) put(key K, conn C) (dead []C) {
	if p.closed {
		p.release(key)
		return []C{conn}
	}
	h := p.hosts[key]
	s := h.server
	if s.stalled > 0 {
		s.yielded = time.Now()
		p.release(key)
		return []C{conn}
	}
	if s.grant(h, grant[C]{conn: conn, hasConn: true}) {
		return nil
	}
	if s.serial && len(s.waiters) > 0 { // for another host
		p.release(key)
		return []C{conn}
	}
	h.idle = append(h.idle, idleConn[C]{conn, time.Now()})
	if len(h.idle) > p.opts.MaxIdle {
		dead = []C{h.idle[0].conn}
		h.idle = slices.Delete(h.idle, 0, 1)
		p.release(key)
	} else {
		p.idle++
	}
	if p.timer == nil && p.idle > 0 && p.opts.IdleTimeout > 0 {
		p.timer = time.AfterFunc(p.pause(), p.sweep)
	}
	return dead
}

func (p *idlePool[K, C]) release(key K) {
	h := p.hosts[key]
	h.add(-1)
	p.grantNext(h.server)
	p.forget(key, h)
}

func (p *idlePool[K, C]) takeIdle(h *host[C], prefer func(C) bool) (g grant[C], ok bool) {
	if len(h.idle) == 0 {
		return g, false
	}
	at := len(h.idle) - 1
	if prefer != nil {
		for i, c := range slices.Backward(h.idle) {
			if prefer(c.conn) {
				at = i
				break
			}
		}
	}
	g = grant[C]{conn: h.idle[at].conn, hasConn: true}
	h.idle = slices.Delete(h.idle, at, at+1)
	p.idle -= 1
	return g, true
}

func (p *idlePool[K, C]) expire(h *host[C], now time.Time) (dead []C) {
	if p.opts.IdleTimeout <= 0 {
		return nil
	}
	n := 0
	for n < len(h.idle) && now.Sub(h.idle[n].since) >= p.opts.IdleTimeout {
		n++
	}
	return p.evict(h, n)
}

// evict removes the n connections that have been idle longest. It need not grant anything: a host
// with idle connections has no waiters, and neither has a serial server.
func (p *idlePool[K, C]) evict(h *host[C], n int) (dead []C) {
	for _, c := range h.idle[:n] {
		dead = append(dead, c.conn)
	}
	h.idle = slices.Delete(h.idle, 0, n)
	h.add(-n)
	p.idle -= n
	return dead
}

// checksPerTimeout is the number of checks of an idle connection before it expires.
const checksPerTimeout = 4

// pause returns the longest time between two sweeps.
func (p *idlePool[K, C]) pause() time.Duration {
	if p.opts.ClosedByPeer == nil {
		return p.opts.IdleTimeout
	}
	return p.opts.IdleTimeout / checksPerTimeout
}

func (p *idlePool[K, C]) removeDead(h *host[C]) (dead []C) {
	if p.opts.ClosedByPeer == nil {
		return nil
	}
	h.idle = slices.DeleteFunc(h.idle, func(c idleConn[C]) bool {
		closed := p.opts.ClosedByPeer(c.conn)
		if closed {
			dead = append(dead, c.conn)
		}
		return closed
	})
	h.add(-len(dead))
	p.idle -= len(dead)
	return dead
}

func (p *idlePool[K, C]) drain() (dead []C) {
	for key, h := range p.hosts {
		dead = append(dead, p.evict(h, len(h.idle))...)
		p.forget(key, h)
	}
	return dead
}

// sweep is called by the timer. It closes expired and dead connections and resets the timer.
func (p *idlePool[K, C]) sweep() {
	p.mu.Lock()
	now := time.Now()
	next := p.pause()
	var dead []C
	for key, h := range p.hosts {
		dead = append(dead, p.expire(h, now)...)
		dead = append(dead, p.removeDead(h)...)
		p.forget(key, h)
		if len(h.idle) > 0 {
			next = min(next, p.opts.IdleTimeout-now.Sub(h.idle[0].since))
		}
	}
	switch {
	case p.timer == nil:
	case p.idle == 0:
		p.timer = nil
	default:
		p.timer.Reset(next)
	}
	p.mu.Unlock()
	p.closeAll(dead)
}
