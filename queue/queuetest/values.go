package queuetest

import (
	"context"
	"time"

	"github.com/urlget/urlget/queue"
)

// Leases implements queue.Engine.
func (c *Conn) Leases() queue.Values { return &values{c, c.model.leases, c.model.opts.LeaseTTL} }

// Records implements queue.Engine.
func (c *Conn) Records() queue.Values { return &values{c, c.model.records, 24 * time.Hour} }

// Pages implements queue.Engine.
func (c *Conn) Pages() queue.Values { return &values{c, c.model.pages, 1 << 62} }

// Secrets implements queue.Engine.
func (c *Conn) Secrets() queue.Values { return &values{c, c.model.secrets, 1 << 62} }

type values struct {
	conn *Conn
	m    map[string]*value
	ttl  time.Duration
}

// get returns a value that has not expired, or nil. The caller holds m.mu.
func (v *values) get(key string) *value {
	old := v.m[key]
	if old != nil && time.Since(old.written) >= v.ttl {
		delete(v.m, key)
		return nil
	}
	return old
}

// set writes a value. The caller holds m.mu.
func (v *values) set(key string, data []byte) uint64 {
	v.conn.model.seq++
	v.m[key] = &value{data, v.conn.model.seq, time.Now()}
	return v.conn.model.seq
}

func (v *values) Get(ctx context.Context, key string) (data []byte, revision uint64, err error) {
	err = v.conn.do(ctx, "get", key, func() error {
		old := v.get(key)
		if old == nil {
			return queue.ErrNotFound
		}
		data, revision = old.data, old.revision
		return nil
	})
	return data, revision, err
}

func (v *values) Create(ctx context.Context, key string, data []byte) (revision uint64, err error) {
	err = v.conn.do(ctx, "create", key, func() error {
		if v.get(key) != nil {
			return queue.ErrExists
		}
		revision = v.set(key, data)
		return nil
	})
	return revision, err
}

func (v *values) Update(ctx context.Context, key string, data []byte,
	old uint64) (revision uint64, err error) {
	err = v.conn.do(ctx, "update", key, func() error {
		if have := v.get(key); have == nil || have.revision != old {
			return queue.ErrConflict
		}
		revision = v.set(key, data)
		return nil
	})
	return revision, err
}

func (v *values) Put(ctx context.Context, key string, data []byte) error {
	return v.conn.do(ctx, "put", key, func() error {
		v.set(key, data)
		return nil
	})
}

func (v *values) Delete(ctx context.Context, key string, revision uint64) error {
	return v.conn.do(ctx, "delete", key, func() error {
		have := v.get(key)
		if revision > 0 && (have == nil || have.revision != revision) {
			return queue.ErrConflict
		}
		delete(v.m, key)
		return nil
	})
}
