// Package pool keeps idle connections for reuse and limits how many are open, each per key.
package pool

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrClosed is the error of Get on a closed pool.
var ErrClosed = errors.New("connection pool is closed")

// Options say what a pool keeps. Limits are per key.
type Options[C any] struct {
	MaxIdle     int           // connections kept idle; 0 keeps none
	MaxOpen     int           // connections in use, being dialed or idle; 0 means no limit
	IdleTimeout time.Duration // how long a connection may stay idle; 0 means no limit

	// Valid, if not nil, reports whether an idle connection can still be used. It is called
	// without locks, by Get, for a connection that nobody else has.
	Valid func(C) bool
	// Close closes a connection. It must not wait for the peer.
	Close func(C)
}

// A Pool holds the connections of any number of keys. Connections under one key must be
// interchangeable, so everything that makes a difference belongs in the key: host and port, but
// also the user and the protection. All methods may be called at the same time.
type Pool[K comparable, C any] struct {
	opts Options[C]

	mu     sync.Mutex
	hosts  map[K]*host[C] // only those with something open
	idle   int            // idle connections of all hosts
	timer  *time.Timer    // set while there are idle connections that can expire
	closed bool
}

// A host is what the pool has under one key.
type host[C any] struct {
	open    int             // idle, leased and being dialed
	idle    []idleConn[C]   // longest idle first
	waiters []chan grant[C] // longest waiting first; empty unless open has reached the limit
}

type idleConn[C any] struct {
	conn  C
	since time.Time
}

// A grant ends a wait: with a connection, with leave to dial one, or with an error. The first two
// make the receiver one of those counted in host.open.
type grant[C any] struct {
	conn C
	have bool // conn is set
	err  error
}

// A Lease is the use of one connection, until Put or Discard.
type Lease[K comparable, C any] struct {
	Conn   C
	Reused bool // Conn was in use before

	pool  *Pool[K, C]
	key   K
	ended bool // guarded by pool.mu
}

// New returns an empty pool. It starts no goroutine.
func New[K comparable, C any](opts Options[C]) *Pool[K, C] {
	return &Pool[K, C]{opts: opts, hosts: make(map[K]*host[C])}
}

// Get leases a connection: of the idle ones the one last used for which prefer reports true, else the
// one last used of all, else a new one from dial. A nil prefer has no preference; prefer must not
// call the pool. If the limit of open connections is reached, Get waits; those who wait are served
// in the order in which they came.
//
// If ctx ends the wait, the error is context.Cause(ctx). Errors of dial are returned as they are.
func (p *Pool[K, C]) Get(ctx context.Context, key K, prefer func(C) bool, dial func(context.Context) (C, error)) (*Lease[K, C], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	g := p.acquire(ctx, key, prefer)
	for g.err == nil && g.have {
		if p.opts.Valid == nil || p.opts.Valid(g.conn) {
			return &Lease[K, C]{Conn: g.conn, Reused: true, pool: p, key: key}, nil
		}
		p.opts.Close(g.conn)
		g = p.another(key, prefer)
	}
	if g.err != nil {
		return nil, g.err
	}
	return p.dial(ctx, key, dial)
}

// acquire takes an idle connection, or leave to dial one, and waits if it must.
func (p *Pool[K, C]) acquire(ctx context.Context, key K, prefer func(C) bool) grant[C] {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return grant[C]{err: ErrClosed}
	}
	h := p.hosts[key]
	if h == nil {
		h = new(host[C])
		p.hosts[key] = h
	}
	expired := p.expire(h, time.Now())
	g, ok := p.takeIdle(h, prefer)
	if !ok && (p.opts.MaxOpen <= 0 || h.open < p.opts.MaxOpen) {
		h.open++
		ok = true
	}
	var turn chan grant[C]
	if !ok {
		turn = make(chan grant[C], 1)
		h.waiters = append(h.waiters, turn)
	}
	p.mu.Unlock()
	p.closeAll(expired)
	if ok {
		return g
	}

	select {
	case g := <-turn:
		return g
	case <-ctx.Done():
		p.giveUp(key, h, turn)
		return grant[C]{err: context.Cause(ctx)}
	}
}

// another follows acquire when the connection was not valid: it takes the next idle one in its
// place, or leave to dial.
func (p *Pool[K, C]) another(key K, prefer func(C) bool) grant[C] {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[key]
	g, ok := p.takeIdle(h, prefer)
	if ok {
		h.open--
	}
	return g
}

// giveUp ends a wait. If the turn had come already, it goes to the next.
func (p *Pool[K, C]) giveUp(key K, h *host[C], turn chan grant[C]) {
	p.mu.Lock()
	var dead []C
	if i := slices.Index(h.waiters, turn); i >= 0 {
		h.waiters = slices.Delete(h.waiters, i, i+1)
	} else if g := <-turn; g.have {
		dead = p.put(key, g.conn)
	} else if g.err == nil {
		p.release(key)
	}
	p.mu.Unlock()
	p.closeAll(dead)
}

func (p *Pool[K, C]) dial(ctx context.Context, key K, dial func(context.Context) (C, error)) (*Lease[K, C], error) {
	done := false
	defer func() { // also if dial panics
		if !done {
			p.mu.Lock()
			p.release(key)
			p.mu.Unlock()
		}
	}()
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	done = !p.closed
	p.mu.Unlock()
	if !done {
		p.opts.Close(conn)
		return nil, ErrClosed
	}
	return &Lease[K, C]{Conn: conn, pool: p, key: key}, nil
}

// Put ends the lease and keeps the connection for others. Only the first of all calls of Put and
// Discard has an effect.
func (l *Lease[K, C]) Put() {
	p := l.pool
	p.mu.Lock()
	var dead []C
	if !l.ended {
		l.ended = true
		dead = p.put(l.key, l.Conn)
	}
	p.mu.Unlock()
	p.closeAll(dead)
}

// Discard ends the lease and closes the connection.
func (l *Lease[K, C]) Discard() {
	p := l.pool
	p.mu.Lock()
	ended := l.ended
	l.ended = true
	p.mu.Unlock()
	if ended {
		return
	}
	p.opts.Close(l.Conn) // before anyone may open another in its place
	p.mu.Lock()
	p.release(l.key)
	p.mu.Unlock()
}

// CloseIdle closes the idle connections.
func (p *Pool[K, C]) CloseIdle() {
	p.mu.Lock()
	dead := p.drain()
	p.mu.Unlock()
	p.closeAll(dead)
}

// Close closes the idle connections, ends all waits and makes Get fail with ErrClosed. Leased
// connections are closed when their leases end; Close does not wait for that.
func (p *Pool[K, C]) Close() {
	p.mu.Lock()
	p.closed = true
	for _, h := range p.hosts {
		for _, turn := range h.waiters {
			turn <- grant[C]{err: ErrClosed}
		}
		h.waiters = nil
	}
	dead := p.drain()
	p.mu.Unlock()
	p.closeAll(dead)
}

func (p *Pool[K, C]) closeAll(conns []C) {
	for _, c := range conns {
		p.opts.Close(c)
	}
}
