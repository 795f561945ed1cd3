package driver

import (
	"slices"
	"time"
)

// A server is the state of the pool for the hosts that connect to the same address: with other users, for
// other hosts behind a proxy, or in another scope.
type server[C any] struct {
	id      any
	hosts   []*host[C]
	open    int         // of all hosts
	waiters []waiter[C] // longest waiting first; empty unless their host or the server has no room

	stalled    int       // new connections without a response: see await
	yielded    time.Time // when a connection was last closed in favor of a stalled one
	yields     int       // stalled connections with a response immediately afterwards
	serial     bool      // it serves one connection at a time
	concurrent bool      // it has served one connection while another one was idle
}

type waiter[C any] struct {
	host *host[C]
	turn chan grant[C]
}

// The methods below require p.mu.

// host returns the state for a key.
func (p *idlePool[K, C]) host(key K) *host[C] {
	if h := p.hosts[key]; h != nil {
		return h
	}
	id := any(key)
	if p.opts.Server != nil {
		id = p.opts.Server(key)
	}
	s := p.servers[id]
	if s == nil {
		s = &server[C]{id: id}
		p.servers[id] = s
	}
	h := &host[C]{server: s}
	s.hosts = append(s.hosts, h)
	p.hosts[key] = h
	return h
}

// forget deletes a host without open connections and waiters, and its server after the last host, unless
// something is known about it.
func (p *idlePool[K, C]) forget(key K, h *host[C]) {
	s := h.server
	if h.open > 0 || slices.ContainsFunc(s.waiters, func(w waiter[C]) bool { return w.host == h }) {
		return
	}
	delete(p.hosts, key)
	if i := slices.Index(s.hosts, h); i >= 0 {
		s.hosts = slices.Delete(s.hosts, i, i+1)
	}
	if len(s.hosts) == 0 && s.yields == 0 {
		delete(p.servers, s.id)
	}
	// Only here, and not whenever the last idle connection is taken: to set the timer again for each
	// request would wake the thread that waits for the network.
	if len(p.hosts) == 0 && p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// add counts n more open connections.
func (h *host[C]) add(n int) {
	h.open += n
	h.server.open += n
}

func (p *idlePool[K, C]) hasRoom(h *host[C]) bool {
	return (p.opts.MaxOpen <= 0 || h.open < p.opts.MaxOpen) && (!h.server.serial || h.server.open == 0)
}

// grant ends the longest wait for a host, and reports whether there was one.
func (s *server[C]) grant(h *host[C], g grant[C]) bool {
	i := slices.IndexFunc(s.waiters, func(w waiter[C]) bool { return w.host == h })
	if i < 0 {
		return false
	}
	s.waiters[i].turn <- g
	s.waiters = slices.Delete(s.waiters, i, i+1)
	return true
}

// grantNext gives a slot to the longest waiter whose host has room.
func (p *idlePool[K, C]) grantNext(s *server[C]) {
	for _, w := range s.waiters {
		if p.hasRoom(w.host) {
			w.host.add(1)
			s.grant(w.host, grant[C]{})
			return
		}
	}
}

// cancel removes a waiter, and reports whether it was still waiting.
func (s *server[C]) cancel(turn chan grant[C]) bool {
	before := len(s.waiters)
	s.waiters = slices.DeleteFunc(s.waiters, func(w waiter[C]) bool { return w.turn == turn })
	return len(s.waiters) < before
}

// evictServer removes the idle connections of a server.
func (p *idlePool[K, C]) evictServer(s *server[C]) (dead []C) {
	for _, h := range s.hosts {
		dead = append(dead, p.evict(h, len(h.idle))...)
	}
	return dead
}

// keepsIdle reports whether the server has an idle connection that it has not closed.
func (p *idlePool[K, C]) keepsIdle(s *server[C]) bool {
	for _, h := range s.hosts {
		for _, c := range h.idle {
			if p.opts.ClosedByPeer == nil || !p.opts.ClosedByPeer(c.conn) {
				return true
			}
		}
	}
	return false
}
