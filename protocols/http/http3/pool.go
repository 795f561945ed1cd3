package http3

import (
	"context"
	"sync"
	"time"
)

const idleTime = time.Minute

// A connKey identifies the requests that may share a connection.
type connKey struct {
	scope  string // see driver.Env.Scope
	origin origin
	addr   string // of the server, "host:port"
}

// A pool keeps one connection per key. Many requests may share it.
type pool struct {
	mu      sync.Mutex
	entries map[connKey]*entry
}

// An entry is a connection, or an attempt to connect.
type entry struct {
	ready  chan struct{} // closed when the attempt has ended
	conn   *conn         // nil before that, and if the attempt failed
	err    error
	gaveUp bool // the request that dialed was canceled
}

// get returns a connection, and dials if there is none. The caller must release it.
func (p *pool) get(
	ctx context.Context, key connKey, dial func() (*conn, error),
) (c *conn, reused bool, err error) {
	for {
		p.mu.Lock()
		e := p.entries[key]
		if e != nil && e.conn != nil && e.conn.unusable() {
			p.mu.Unlock()
			p.retire(e.conn)
			continue
		}
		if e == nil {
			e = &entry{ready: make(chan struct{})}
			if p.entries == nil {
				p.entries = make(map[connKey]*entry)
			}
			p.entries[key] = e
			p.mu.Unlock()
			c, err := dial()
			e.gaveUp = ctx.Err() != nil
			p.dialed(key, e, c, err)
			return c, false, err
		}
		if e.conn != nil {
			e.conn.users++
			e.conn.timer.Stop()
			p.mu.Unlock()
			return e.conn, true, nil
		}
		p.mu.Unlock()
		select {
		case <-e.ready:
			if e.err != nil && !e.gaveUp {
				return nil, false, e.err
			}
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}

// dialed ends an attempt to connect. The caller of get is the first user of the connection.
func (p *pool) dialed(key connKey, e *entry, c *conn, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(e.ready)
	if err != nil {
		e.err = err
		if p.entries[key] == e {
			delete(p.entries, key)
		}
		return
	}
	c.users = 1
	c.timer = time.AfterFunc(idleTime, func() { p.expire(c) })
	c.timer.Stop()
	if p.entries[key] == e {
		e.conn = c
	} else {
		c.retired = true // closeIdle was called during the attempt
	}
}

func (p *pool) release(c *conn) {
	p.mu.Lock()
	c.users--
	last := c.users == 0
	end := last && (c.retired || c.unusable())
	if end {
		p.drop(c)
	} else if last {
		c.timer.Reset(idleTime)
	}
	p.mu.Unlock()
	if end {
		c.close()
	}
}

func (p *pool) expire(c *conn) {
	p.mu.Lock()
	idle := c.users == 0 && !c.retired
	if idle {
		p.drop(c)
	}
	p.mu.Unlock()
	if idle {
		c.close()
	}
}

// retire stops new requests on a connection and closes it if it is idle.
func (p *pool) retire(c *conn) {
	p.mu.Lock()
	p.drop(c)
	idle := c.users == 0
	p.mu.Unlock()
	if idle {
		c.close()
	}
}

// drop removes a connection. The caller holds p.mu.
func (p *pool) drop(c *conn) {
	c.retired = true
	c.timer.Stop()
	if e := p.entries[c.key]; e != nil && e.conn == c {
		delete(p.entries, c.key)
	}
}

func (p *pool) closeIdle() {
	p.mu.Lock()
	var idle []*conn
	for key, e := range p.entries {
		delete(p.entries, key)
		if e.conn == nil {
			continue // dialed finds that its entry was removed
		}
		e.conn.retired = true
		e.conn.timer.Stop()
		if e.conn.users == 0 {
			idle = append(idle, e.conn)
		}
	}
	p.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}
