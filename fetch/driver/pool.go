package driver

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A Pool keeps idle connections of a driver for reuse and limits the number of open connections per
// key. Connections with the same key must be interchangeable, so the key must include everything
// that distinguishes them: host and port, and also user and protection. The pool itself adds the
// scope of the connection (see [fetch.Env.Scope]). A Pool is safe for concurrent use.
//
// The address of a key is the key if it is a string, or what its method Addr() string returns. A server
// that serves one connection at a time is blocked by idle connections of any key with its address; see
// [Lease.Await].
type Pool[K comparable, C any] struct {
	env  fetch.Env
	opts PoolOptions[C]
	pool *idlePool[scopedKey[K], C]
}

type scopedKey[K comparable] struct {
	key    K
	scope  string
	server string // the forward proxy, or the address; empty if unknown
}

// id returns a value that is equal for keys of the same server.
func (k scopedKey[K]) id() any {
	if k.server != "" {
		return k.server
	}
	return k
}

// PoolOptions configure a Pool. Limits are per key.
type PoolOptions[C any] struct {
	MaxIdle     int           // idle connections to keep; 0 keeps none
	MaxOpen     int           // connections in use, being dialed or idle; 0 means no limit
	IdleTimeout time.Duration // maximum idle time of a connection; 0 means no limit

	// Conn, if not nil, returns the underlying connection of an idle one, and the number of bytes
	// of input that the driver has buffered. An idle connection with unsolicited input is closed
	// and not reused, because the input would be mistaken for the reply to the next request. A
	// connection that the peer has closed is not reused either. See [fetch.Conn.Unread]. The pool checks
	// idle connections a few times before they expire. Conn may return nil for an idle connection that
	// expects input; the driver must then read it after Get.
	Conn func(C) (conn *fetch.Conn, buffered int)
	// Asks declares that the driver sends each request with [fetch.Conn.Ask], which looks for unsolicited
	// input itself, and that it keeps no connection with buffered input.
	Asks bool
	// Valid, if not nil, reports whether a connection can be reused. Get calls it before it leases
	// an idle connection, and Put before it keeps one, without locks.
	Valid func(C) bool
	// Close closes a connection. It must not wait for the peer.
	Close func(C)
}

// A Lease is the exclusive use of a connection, until Put or Discard. Only the first call to one of
// them has an effect.
type Lease[K comparable, C any] struct {
	Conn   C
	Reused bool // Conn has been used before

	lease  idleLease[scopedKey[K], C]
	opts   *PoolOptions[C]
	unbind func() bool // nil if the connection is not bound
	ended  atomic.Bool
}

// Bind binds the connection to ctx, as [fetch.Conn.Bind] does, until the lease ends. It requires
// PoolOptions.Conn.
func (l *Lease[K, C]) Bind(ctx context.Context) {
	conn, _ := l.opts.Conn(l.Conn)
	l.unbind = conn.Bind(ctx)
}

// Unbind undoes Bind without ending the lease. It reports whether the connection is still usable,
// which it is not if the context has ended.
func (l *Lease[K, C]) Unbind() bool {
	if l.unbind == nil {
		return true
	}
	usable := l.unbind()
	l.unbind = nil
	return usable
}

// Await announces that the caller waits for the first response on a new connection, until it calls
// end. If the server does not respond for a second, the pool closes idle connections to it, in case
// it serves one connection at a time. These are the ones to the same address in any scope, or to
// any address through the same forward proxy. Get does the same during dial. Await does nothing for a reused
// connection.
func (l *Lease[K, C]) Await() (end func(responded bool)) {
	if l.Reused {
		return ignore
	}
	return l.lease.pool.await(l.lease.key)
}

// ignore is not a function literal, which would be allocated for each call in a generic method.
func ignore(bool) {}

// Put ends the lease and keeps the connection for others. If its context has ended or it is no
// longer valid, Put closes it.
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
func NewPool[K comparable, C any](env fetch.Env, opts PoolOptions[C]) *Pool[K, C] {
	return &Pool[K, C]{env: env, opts: opts, pool: newIdlePool(idleOptions[scopedKey[K], C]{
		MaxIdle: opts.MaxIdle, MaxOpen: opts.MaxOpen, IdleTimeout: opts.IdleTimeout,
		Valid: opts.valid, ClosedByPeer: opts.closedByPeer(), Close: opts.Close, Server: scopedKey[K].id,
	})}
}

func (o *PoolOptions[C]) valid(c C) bool {
	if o.Conn != nil && !o.Asks {
		if conn, buffered := o.Conn(c); conn != nil && (buffered > 0 || conn.Unread()) {
			return false
		}
	}
	return o.Valid == nil || o.Valid(c)
}

// closedByPeer returns a function that reports whether the peer has closed a connection, or nil if that
// cannot be determined.
func (o *PoolOptions[C]) closedByPeer() func(C) bool {
	if o.Conn == nil {
		return nil
	}
	return func(c C) bool {
		conn, _ := o.Conn(c)
		return conn != nil && conn.HasInput()
	}
}

// Get leases a connection: the most recently used idle one for which prefer returns true, or else
// the most recently used one, or else a new one from dial. Prefer may be nil; it must not call
// methods of the pool. If MaxOpen is reached, Get waits. Waiters are served in order of arrival.
//
// If ctx ends the wait, the error is context.Cause(ctx). Errors of dial are returned unchanged.
func (p *Pool[K, C]) Get(ctx context.Context, key K, prefer func(C) bool,
	dial func(context.Context) (C, error)) (*Lease[K, C], error) {
	l, err := p.pool.Get(ctx, p.scoped(ctx, key), prefer, dial)
	if err != nil {
		return nil, err
	}
	return &Lease[K, C]{Conn: l.Conn, Reused: l.Reused, lease: l, opts: &p.opts}, nil
}

// Use leases a connection as Get does, binds it to ctx and calls op. If op fails on a reused connection
// and stale reports that another one may succeed, Use tries that. If Use succeeds, the caller must end the
// lease.
func (p *Pool[K, C]) Use(ctx context.Context, key K, prefer func(C) bool,
	dial func(context.Context) (C, error), op func(*Lease[K, C]) error,
	stale func(C, error) bool) (*Lease[K, C], error) {
	for {
		l, err := p.Get(ctx, key, prefer, dial)
		if err != nil {
			return nil, err
		}
		l.Bind(ctx)
		if err = op(l); err == nil {
			return l, nil
		}
		if !l.Reused || ctx.Err() != nil || !stale(l.Conn, err) {
			l.Put()
			return nil, err
		}
		l.Discard()
	}
}

func (p *Pool[K, C]) scoped(ctx context.Context, key K) scopedKey[K] {
	k := scopedKey[K]{key: key, scope: p.env.Scope(ctx)}
	if addr, ok := any(key).(string); ok { // apart from the case below, because that copies the key
		k.server = addr
	} else if a, ok := any(key).(interface{ Addr() string }); ok {
		k.server = a.Addr()
	}
	if proxy, forward := p.env.Proxy(ctx); forward {
		k.server = proxy.WithoutUserinfo().String()
	}
	return k
}

// CloseIdle closes the idle connections.
func (p *Pool[K, C]) CloseIdle() { p.pool.CloseIdle() }
