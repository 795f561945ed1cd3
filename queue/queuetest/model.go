// Package queuetest has a model of the engine of a queue, in memory and with faults on request, and
// the tests that every engine has to pass.
package queuetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/urlget/urlget/queue"
)

// A Fault is what goes wrong with one operation.
type Fault int

// The faults.
const (
	None       Fault = iota
	Lost             // nothing is done, and no answer comes
	AnswerLost       // it is done, and no answer comes
	Twice            // a delivery is made to another worker too
)

// Options say how a model behaves.
type Options struct {
	queue.Limits
	Window  time.Duration // in which a key is submitted once
	Timeout time.Duration // until an operation without an answer fails
	Most    int           // jobs; 0 means no limit
	// Fault, if not nil, returns what goes wrong with an operation ("submit", "next", "ack", "extend",
	// "return", "result", "dead", "get", "create", "update", "put", "delete") of a connection on
	// something. It must not depend on what else happens at the same time.
	Fault func(conn, op, key string) Fault
}

// A Model is an engine. Workers have a Conn each.
type Model struct {
	opts    Options
	mu      sync.Mutex // for all below
	changed chan struct{}
	seq     uint64
	jobs    map[queue.Priority][]*message
	keys    map[string]time.Time // when each was submitted
	results log
	dead    log
	leases  map[string]*value
	records map[string]*value
	pages   map[string]*value
}

type message struct {
	seq        uint64
	data       []byte
	deliveries int
	ready      time.Time // when it may be delivered
}

// A log has messages in order, one for each ID.
type log struct {
	all  []queue.Stored
	have map[string]bool
}

type value struct {
	data     []byte
	revision uint64
	written  time.Time
}

// NewModel returns an empty model.
func NewModel(opts Options) *Model {
	return &Model{opts: opts, changed: make(chan struct{}), jobs: map[queue.Priority][]*message{}, keys: map[string]time.Time{},
		results: log{have: map[string]bool{}}, dead: log{have: map[string]bool{}},
		leases: map[string]*value{}, records: map[string]*value{}, pages: map[string]*value{}}
}

// errNoAnswer is what operations without an answer end with.
var errNoAnswer = errors.New("queuetest: no answer")

// A Conn is a connection to a model.
type Conn struct {
	model *Model
	name  string
	mu    sync.Mutex
	cut   chan struct{} // closed while nothing passes
}

// Connect returns a connection with a name, for Options.Fault.
func (m *Model) Connect(name string) *Conn { return &Conn{model: m, name: name} }

// Cut makes nothing pass the connection any more, or everything again.
func (c *Conn) Cut(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case cut && c.cut == nil:
		c.cut = make(chan struct{})
		close(c.cut)
	case !cut:
		c.cut = nil
	}
}

func (c *Conn) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut != nil
}

func (m *Model) fault(c *Conn, op, key string) Fault {
	if c.isCut() {
		return Lost
	}
	if m.opts.Fault == nil {
		return None
	}
	return m.opts.Fault(c.name, op, key)
}

// change lets those who wait look again. The model is locked.
func (m *Model) change() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// do does one operation of a connection.
func (c *Conn) do(ctx context.Context, op, key string, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fault := c.model.fault(c, op, key)
	var err error
	if fault != Lost {
		c.model.mu.Lock()
		err = f()
		c.model.mu.Unlock()
	}
	if fault == Lost || fault == AnswerLost {
		return c.wait(ctx, op)
	}
	return err
}

// wait waits for an answer that does not come.
func (c *Conn) wait(ctx context.Context, op string) error {
	select {
	case <-time.After(c.model.opts.Timeout):
		return fmt.Errorf("%s: %w", op, errNoAnswer)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Limits implements queue.Engine.
func (c *Conn) Limits() queue.Limits { return c.model.opts.Limits }

// Submit implements queue.Engine.
func (c *Conn) Submit(ctx context.Context, p queue.Priority, key string, data []byte) (duplicate bool, err error) {
	err = c.do(ctx, "submit", key, func() error {
		m, now := c.model, time.Now()
		if at, ok := m.keys[key]; ok && now.Sub(at) < m.opts.Window {
			duplicate = true
			return nil
		}
		if m.opts.Most > 0 && len(m.jobs[p]) >= m.opts.Most {
			return queue.ErrFull
		}
		m.keys[key] = now
		m.seq++
		m.jobs[p] = append(m.jobs[p], &message{seq: m.seq, data: data, ready: now})
		m.change()
		return nil
	})
	return duplicate, err
}

// Next implements queue.Engine.
func (c *Conn) Next(ctx context.Context) (queue.Delivery, error) {
	m := c.model
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if c.isCut() {
			return nil, c.wait(ctx, "next")
		}
		m.mu.Lock()
		msg, p, wait := m.pick()
		changed := m.changed
		if msg == nil {
			m.mu.Unlock()
			timer := time.NewTimer(min(wait, m.opts.Timeout)) // the connection may be cut meanwhile
			select {
			case <-changed:
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return nil, ctx.Err()
			}
			timer.Stop()
			continue
		}
		fault := m.fault(c, "next", fmt.Sprint(msg.seq, "/", msg.deliveries))
		if fault == Lost {
			fault = AnswerLost // what did not arrive was delivered all the same
		}
		d := &delivery{c, msg, p, msg.deliveries > 0}
		msg.deliveries++
		msg.ready = time.Now().Add(m.opts.AckWait)
		if fault == Twice {
			msg.ready = time.Now()
		}
		m.mu.Unlock()
		if fault == AnswerLost {
			return nil, c.wait(ctx, "next")
		}
		return d, nil
	}
}

// pick returns the message that is next, or how long to wait for one. The model is locked.
func (m *Model) pick() (*message, queue.Priority, time.Duration) {
	now, wait := time.Now(), time.Hour
	for _, p := range queue.Priorities {
		for _, msg := range m.jobs[p] {
			rest := msg.ready.Sub(now)
			if rest <= 0 {
				return msg, p, 0
			}
			wait = min(wait, rest)
		}
	}
	return nil, "", wait
}

type delivery struct {
	conn     *Conn
	msg      *message
	priority queue.Priority
	again    bool
}

func (d *delivery) Data() []byte             { return d.msg.data }
func (d *delivery) Priority() queue.Priority { return d.priority }
func (d *delivery) Again() bool              { return d.again }

func (d *delivery) Ack(ctx context.Context) error {
	return d.conn.do(ctx, "ack", fmt.Sprint(d.msg.seq), func() error {
		m := d.conn.model
		for i, msg := range m.jobs[d.priority] {
			if msg == d.msg {
				m.jobs[d.priority] = append(m.jobs[d.priority][:i:i], m.jobs[d.priority][i+1:]...)
				break
			}
		}
		return nil
	})
}

func (d *delivery) Extend() error {
	m := d.conn.model
	if m.fault(d.conn, "extend", fmt.Sprint(d.msg.seq)) != None {
		return nil // it is sent, and does not arrive
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d.msg.ready = time.Now().Add(m.opts.AckWait)
	return nil
}

func (d *delivery) Return(delay time.Duration) error {
	m := d.conn.model
	if m.fault(d.conn, "return", fmt.Sprint(d.msg.seq)) != None {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d.msg.ready = time.Now().Add(delay)
	m.change()
	return nil
}

func (l *log) put(seq uint64, id string, data []byte) {
	if !l.have[id] {
		l.have[id] = true
		l.all = append(l.all, queue.Stored{Sequence: seq, ID: id, Data: data})
	}
}

// PutResult implements queue.Engine.
func (c *Conn) PutResult(ctx context.Context, id string, data []byte) error {
	return c.put(ctx, "result", &c.model.results, id, data)
}

// PutDead implements queue.Engine.
func (c *Conn) PutDead(ctx context.Context, id string, data []byte) error {
	return c.put(ctx, "dead", &c.model.dead, id, data)
}

func (c *Conn) put(ctx context.Context, op string, l *log, id string, data []byte) error {
	return c.do(ctx, op, id, func() error {
		c.model.seq++
		l.put(c.model.seq, id, data)
		c.model.change()
		return nil
	})
}

// HasResult implements queue.Engine.
func (c *Conn) HasResult(ctx context.Context, id string) (has bool, err error) {
	err = c.do(ctx, "get", "result "+id, func() error {
		has = c.model.results.have[id]
		return nil
	})
	return has, err
}
