package driver

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errPoolClosed = errors.New("connection pool is closed")

type idleOptions[K comparable, C any] struct {
	MaxIdle     int           // idle connections to keep; 0 keeps none
	MaxOpen     int           // connections in use, being dialed or idle; 0 means no limit
	IdleTimeout time.Duration // maximum idle time of a connection; 0 means no limit

	// Valid, if not nil, reports whether an idle connection can still be used. Get calls it without
	// locks, with a connection that is in exclusive use.
	Valid func(C) bool
	// ClosedByPeer, if not nil, reports whether the peer has closed an idle connection. Such connections
	// are closed before they expire. Gone must not wait, and is called with locks held.
	ClosedByPeer func(C) bool
	// Close closes a connection. It must not wait for the peer.
	Close func(C)
	// Server returns the server of a key, which other keys may have too. If it is nil, each key has its own.
	Server func(key K) any
}

// An idlePool holds connections by key. Connections with the same key must be interchangeable, so
// the key must include everything that distinguishes them: host and port, and also user and
// protection. Keys must be comparable. An idlePool is safe for concurrent use.
type idlePool[K comparable, C any] struct {
	opts idleOptions[K, C]

	mu      sync.Mutex
	hosts   map[K]*host[C]     // by key; only those with open connections or waiters
	servers map[any]*server[C] // those of the hosts, and those that may be serial
	idle    int                // idle connections of all hosts
	timer   *time.Timer        // set while there are idle connections that can expire
	closed  bool
}

// A host is the state of the pool for one key.
type host[C any] struct {
	server *server[C]
	open   int           // idle, leased and being dialed
	idle   []idleConn[C] // longest idle first
}

type idleConn[C any] struct {
	conn  C
	since time.Time
}

// A grant ends a wait: with a connection, with a slot to dial one, or with an error. In the first
// two cases host.open and server.open include the receiver.
type grant[C any] struct {
	conn    C
	hasConn bool // conn is set
	err     error
}

type idleLease[K comparable, C any] struct {
	Conn   C
	Reused bool // Conn has been used before

	pool  *idlePool[K, C]
	key   K
	ended bool // guarded by pool.mu
}

func newIdlePool[K comparable, C any](opts idleOptions[K, C]) *idlePool[K, C] {
	return &idlePool[K, C]{opts: opts, hosts: make(map[K]*host[C]), servers: make(map[any]*server[C])}
}

// Get leases a connection: the most recently used idle one for which prefer returns true, or else
// the most recently used one, or else a new one from dial. Prefer may be nil; it must not call
// methods of the pool. If MaxOpen is reached, Get waits. Waiters are served in order of arrival.
//
// If ctx ends the wait, the error is context.Cause(ctx). Errors of dial are returned unchanged.
func (p *idlePool[K, C]) Get(ctx context.Context, key K, prefer func(C) bool,
	dial func(context.Context) (C, error)) (none idleLease[K, C], err error) {
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	g := p.acquire(ctx, key, prefer)
	for g.err == nil && g.hasConn {
		if p.opts.Valid == nil || p.opts.Valid(g.conn) {
			return idleLease[K, C]{Conn: g.conn, Reused: true, pool: p, key: key}, nil
		}
		p.opts.Close(g.conn)
		g = p.replaceInvalid(key, prefer)
	}
	if g.err != nil {
		return none, g.err
	}
	return p.dial(ctx, key, dial)
}

func (p *idlePool[K, C]) acquire(ctx context.Context, key K, prefer func(C) bool) grant[C] {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return grant[C]{err: errPoolClosed}
	}
	h := p.host(key)
	dead := p.expire(h, time.Now())
	g, ok := p.takeIdle(h, prefer)
	if !ok && h.server.serial {
		dead = append(dead, p.evictServer(h.server)...)
	}
	if !ok && p.hasRoom(h) {
		h.add(1)
		ok = true
	}
	var turn chan grant[C]
	if !ok {
		turn = make(chan grant[C], 1)
		h.server.waiters = append(h.server.waiters, waiter[C]{h, turn})
	}
	p.mu.Unlock()
	p.closeAll(dead)
	if ok {
		return g
	}

	select {
	case g := <-turn:
		return g
	case <-ctx.Done():
		p.cancelWait(key, h, turn)
		return grant[C]{err: context.Cause(ctx)}
	}
}

// replaceInvalid is called if an acquired connection was not valid. It takes the next idle one, or the
// slot to dial one.
func (p *idlePool[K, C]) replaceInvalid(key K, prefer func(C) bool) grant[C] {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[key]
	g, ok := p.takeIdle(h, prefer)
	if ok {
		h.add(-1)
	}
	return g
}

// cancelWait ends a wait. If a grant has already arrived, it is passed on.
func (p *idlePool[K, C]) cancelWait(key K, h *host[C], turn chan grant[C]) {
	p.mu.Lock()
	var dead []C
	if h.server.cancel(turn) {
		p.forget(key, h)
	} else if g := <-turn; g.hasConn {
		dead = p.put(key, g.conn)
	} else if g.err == nil {
		p.release(key)
	}
	p.mu.Unlock()
	p.closeAll(dead)
}

func (p *idlePool[K, C]) dial(ctx context.Context, key K,
	dial func(context.Context) (C, error)) (none idleLease[K, C], err error) {
	done := false
	defer func() { // even if dial panics
		if !done {
			p.mu.Lock()
			p.release(key)
			p.mu.Unlock()
		}
	}()
	end := p.await(key)
	conn, err := dial(ctx)
	end(err == nil)
	if err != nil {
		return none, err
	}
	p.mu.Lock()
	done = !p.closed
	p.mu.Unlock()
	if !done {
		p.opts.Close(conn)
		return none, errPoolClosed
	}
	return idleLease[K, C]{Conn: conn, pool: p, key: key}, nil
}

// Put ends the lease and keeps the connection for others. Only the first call to Put or Discard has
// an effect.
func (l *idleLease[K, C]) Put() {
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
func (l *idleLease[K, C]) Discard() {
	p := l.pool
	p.mu.Lock()
	ended := l.ended
	l.ended = true
	p.mu.Unlock()
	if ended {
		return
	}
	p.opts.Close(l.Conn) // before a waiter may dial another
	p.mu.Lock()
	p.release(l.key)
	p.mu.Unlock()
}

// CloseIdle closes the idle connections.
func (p *idlePool[K, C]) CloseIdle() {
	p.mu.Lock()
	dead := p.drain()
	p.mu.Unlock()
	p.closeAll(dead)
}

// Close closes the idle connections, ends all waits, and makes Get fail with errPoolClosed. Leased
// connections are closed when their leases end; Close does not wait for them.
func (p *idlePool[K, C]) Close() {
	p.mu.Lock()
	p.closed = true
	for _, s := range p.servers {
		for _, w := range s.waiters {
			w.turn <- grant[C]{err: errPoolClosed}
		}
		s.waiters = nil
	}
	dead := p.drain()
	p.mu.Unlock()
	p.closeAll(dead)
}

func (p *idlePool[K, C]) closeAll(conns []C) {
	for _, c := range conns {
		p.opts.Close(c)
	}
}
