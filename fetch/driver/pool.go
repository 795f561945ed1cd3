package driver

import (
	"context"
	"sync/atomic"
	"time"
)

// A Pool keeps idle connections of a driver for reuse and limits how many are open, per key.
// Connections with the same key must be interchangeable, so the key must include everything that
// tells them apart: host and port, but also user and protection. The pool itself adds the scope of
// the connection (see [Env.Scope]). Methods may be called concurrently.
type Pool[K comparable, C any] struct {
	env  Env
	opts PoolOptions[C]
	pool *idlePool
}

// A scoped key is a driver's key within a scope.
type scoped struct {
	key   any
	scope string
}

// PoolOptions configures a Pool. Limits are per key.
type PoolOptions[C any] struct {
	MaxIdle     int           // idle connections to keep; 0 keeps none
	MaxOpen     int           // connections in use, being dialed or idle; 0 means no limit
	IdleTimeout time.Duration // how long a connection may stay idle; 0 means no limit

	// Conn, if not nil, returns the underlying connection of an idle one, and how many bytes of
	// input the driver has buffered. An idle connection with unsolicited input is closed rather
	// than reused, because that input would be mistaken for the answer to the next request. So is
	// one that the peer has closed. See [Conn.Unread]. Before IdleTimeout such connections are looked
	// for now and then.
	Conn func(C) (conn *Conn, buffered int)
	// Valid, if not nil, reports whether a connection can be used again. Get calls it before it
	// leases an idle one, and Put before it keeps one, without holding locks.
	Valid func(C) bool
	// Close closes a connection. It must not wait for the peer.
	Close func(C)
}

// A Lease is the use of one connection, until Put or Discard. Only the first call to one of them has
// an effect.
type Lease[K comparable, C any] struct {
	Conn   C
	Reused bool // Conn has been used before

	lease  *idleLease
	opts   *PoolOptions[C]
	unbind func() bool // nil if the connection is not bound
	ended  atomic.Bool
}

// Bind binds the connection to ctx, as [Conn.Bind] does, until the lease ends. The pool must have
// been made with the option Conn.
func (l *Lease[K, C]) Bind(ctx context.Context) {
	conn, _ := l.opts.Conn(l.Conn)
	l.unbind = conn.Bind(ctx)
}

// Unbind ends what Bind began, but not the lease, and reports whether the connection can still be
// used: not if the context has ended.
func (l *Lease[K, C]) Unbind() bool {
	if l.unbind == nil {
		return true
	}
	usable := l.unbind()
	l.unbind = nil
	return usable
}

// Put ends the lease and keeps the connection for others, unless the context that it was bound to
// has ended or it is no longer valid.
func (l *Lease[K, C]) Put() {
	if l.ended.Swap(true) {
		return
	}
	interrupted := l.unbind != nil && !l.unbind()
	if interrupted || l.opts.Valid != nil && !l.opts.Valid(l.Conn) {
		l.lease.Discard()
	} else {
		l.lease.Put()
	}
}

// Discard ends the lease and closes the connection. It may be called while another goroutine uses
// the connection.
func (l *Lease[K, C]) Discard() {
	if l.ended.Swap(true) {
		return
	}
	l.lease.Discard()
	if l.unbind != nil {
		l.unbind()
	}
}

// NewPool returns an empty pool for the driver that env belongs to. It starts no goroutine.
func NewPool[K comparable, C any](env Env, opts PoolOptions[C]) *Pool[K, C] {
	return &Pool[K, C]{env: env, opts: opts, pool: newIdlePool(idleOptions{
		MaxIdle: opts.MaxIdle, MaxOpen: opts.MaxOpen, IdleTimeout: opts.IdleTimeout,
		Valid: func(c any) bool { return opts.valid(c.(C)) },
		Gone:  opts.gone(),
		Close: func(c any) { opts.Close(c.(C)) },
	})}
}

// valid reports whether an idle connection can still be used.
func (o *PoolOptions[C]) valid(c C) bool {
	if o.Conn != nil {
		if conn, buffered := o.Conn(c); buffered > 0 || conn.Unread() {
			return false
		}
	}
	return o.Valid == nil || o.Valid(c)
}

// gone returns what the pool looks for connections with that the peer has closed; nil if it cannot
// know.
func (o *PoolOptions[C]) gone() func(any) bool {
	if o.Conn == nil {
		return nil
	}
	return func(c any) bool {
		conn, _ := o.Conn(c.(C))
		return conn.waits()
	}
}

// Get leases a connection: the most recently used idle one for which prefer reports true, or else
// the most recently used one, or else a new one from dial. Prefer may be nil; it must not call
// methods of the pool. If MaxOpen is reached, Get waits; waiters are served in order of arrival.
//
// If ctx ends the wait, the error is context.Cause(ctx). Errors of dial are returned unchanged.
func (p *Pool[K, C]) Get(ctx context.Context, key K, prefer func(C) bool, dial func(context.Context) (C, error)) (*Lease[K, C], error) {
	var preferred func(any) bool
	if prefer != nil {
		preferred = func(c any) bool { return prefer(c.(C)) }
	}
	l, err := p.pool.Get(ctx, scoped{key, p.env.Scope(ctx)}, preferred, func(ctx context.Context) (any, error) {
		c, err := dial(ctx)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	return &Lease[K, C]{Conn: l.Conn.(C), Reused: l.Reused, lease: l, opts: &p.opts}, nil
}

// CloseIdle closes the idle connections.
func (p *Pool[K, C]) CloseIdle() { p.pool.CloseIdle() }
