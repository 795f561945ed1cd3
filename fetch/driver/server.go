package driver

import (
	"slices"
	"time"
)

// A server is the state of the pool for the hosts that connect to the same address: with other users, for
// other hosts behind a proxy, or in another scope.
type server struct {
	id      any
	hosts   []*host
	open    int      // of all hosts
	waiters []waiter // longest waiting first; empty unless their host or the server has no room

	stalled    int       // new connections without a response: see await
	yielded    time.Time // when a connection was last closed in favor of a stalled one
	yields     int       // stalled connections with a response immediately afterwards
	serial     bool      // it serves one connection at a time
	concurrent bool      // it has served one connection while another one was idle
}

type waiter struct {
	host *host
	turn chan grant
}

// The methods below require p.mu.

// host returns the state for a key.
func (p *idlePool) host(key any) *host {
	if h := p.hosts[key]; h != nil {
		return h
	}
	id := key
	if p.opts.Server != nil {
		id = p.opts.Server(key)
	}
	s := p.servers[id]
	if s == nil {
		s = &server{id: id}
		p.servers[id] = s
	}
	h := &host{server: s}
	s.hosts = append(s.hosts, h)
	p.hosts[key] = h
	return h
}

// forget deletes a host without open connections and waiters, and its server after the last host, unless
// something is known about it.
func (p *idlePool) forget(key any, h *host) {
	s := h.server
	if h.open > 0 || slices.ContainsFunc(s.waiters, func(w waiter) bool { return w.host == h }) {
		return
	}
	delete(p.hosts, key)
	if i := slices.Index(s.hosts, h); i >= 0 {
		s.hosts = slices.Delete(s.hosts, i, i+1)
	}
	if len(s.hosts) == 0 && s.yields == 0 {
		delete(p.servers, s.id)
	}
}

// add counts n more open connections.
func (h *host) add(n int) {
	h.open += n
	h.server.open += n
}

func (p *idlePool) hasRoom(h *host) bool {
	return (p.opts.MaxOpen <= 0 || h.open < p.opts.MaxOpen) && (!h.server.serial || h.server.open == 0)
}

// grant ends the longest wait for a host, and reports whether there was one.
func (s *server) grant(h *host, g grant) bool {
	i := slices.IndexFunc(s.waiters, func(w waiter) bool { return w.host == h })
	if i < 0 {
		return false
	}
	s.waiters[i].turn <- g
	s.waiters = slices.Delete(s.waiters, i, i+1)
	return true
}

// grantNext gives a slot to the longest waiter whose host has room.
func (p *idlePool) grantNext(s *server) {
	for _, w := range s.waiters {
		if p.hasRoom(w.host) {
			w.host.add(1)
			s.grant(w.host, grant{})
			return
		}
	}
}

// cancel removes a waiter, and reports whether it was still waiting.
func (s *server) cancel(turn chan grant) bool {
	before := len(s.waiters)
	s.waiters = slices.DeleteFunc(s.waiters, func(w waiter) bool { return w.turn == turn })
	return len(s.waiters) < before
}

// evictServer removes the idle connections of a server.
func (p *idlePool) evictServer(s *server) (dead []any) {
	for _, h := range s.hosts {
		dead = append(dead, p.evict(h, len(h.idle))...)
	}
	return dead
}

// keepsIdle reports whether the server has an idle connection that it has not closed.
func (p *idlePool) keepsIdle(s *server) bool {
	for _, h := range s.hosts {
		for _, c := range h.idle {
			if p.opts.ClosedByPeer == nil || !p.opts.ClosedByPeer(c.conn) {
				return true
			}
		}
	}
	return false
}
