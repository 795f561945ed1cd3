// Package queuetest provides an in-memory model of a queue engine with fault injection, and the
// tests that every engine must pass.
package queuetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/urlget/urlget/queue"
)

// A Fault is a failure of one operation.
type Fault struct {
	Lost         bool // the request is lost
	ResponseLost bool // the operation is performed and the response is lost
	Twice        bool // the job is also delivered to another worker
}

// Options configure a Model. Zero fields mean the defaults.
type Options struct {
	queue.Limits               // defaults: 1 minute, 15 s, 1 MiB
	Window       time.Duration // duplicate window; default 1 hour
	Timeout      time.Duration // after which an operation without a response fails; default 3 s
	MaxJobs      int           // maximum number of jobs; 0 means no limit
	MaxTaken     int           // maximum number of delivered jobs per priority; default 20,000
	// Fault, if not nil, returns the failure of an operation of a connection on a key. Operations
	// are "submit", "next", "ack", "extend", "return", "move", "result", "dead", "get", "create",
	// "update", "put" and "delete". Its result must not depend on concurrent operations.
	Fault func(conn, op, key string) Fault
}

// A Model is an engine in memory. Each worker has its own Conn.
type Model struct {
	opts    Options
	mu      sync.Mutex // guards the fields below
	changed chan struct{}
	seq     uint64
	jobs    map[queue.Priority][]*message
	keys    map[string]time.Time // time of submission
	results log
	dead    log
	leases  map[string]*value
	records map[string]*value
	pages   map[string]*value
	secrets map[string]*value
	state   queue.State
	limits  []byte // of hosts

	segments         []byte
	segmentsRevision uint64
}

type message struct {
	seq        uint64
	key        string
	data       []byte
	deliveries int
	ready      time.Time // earliest time of delivery
	moves      int
	since      time.Time // time of the submission or the last move
}

// A log holds messages in order, at most one for each ID.
type log struct {
	all []queue.Stored
	ids map[string]bool
}

type value struct {
	data     []byte
	revision uint64
	written  time.Time
}

// NewModel returns an empty model.
func NewModel(opts Options) *Model {
	opts.AckWait, opts.LeaseTTL = cmp.Or(opts.AckWait, time.Minute), cmp.Or(opts.LeaseTTL, 15*time.Second)
	opts.Message, opts.Window = cmp.Or(opts.Message, 1<<20), cmp.Or(opts.Window, time.Hour)
	opts.Timeout, opts.MaxTaken = cmp.Or(opts.Timeout, 3*time.Second), cmp.Or(opts.MaxTaken, 20_000)
	return &Model{opts: opts, changed: make(chan struct{}), jobs: map[queue.Priority][]*message{},
		keys:    map[string]time.Time{},
		results: log{ids: map[string]bool{}}, dead: log{ids: map[string]bool{}},
		leases: map[string]*value{}, records: map[string]*value{}, pages: map[string]*value{},
		secrets: map[string]*value{}}
}

// errNoResponse is returned by operations without a response.
var errNoResponse = errors.New("queuetest: no response")

// A Conn is a connection to a model.
type Conn struct {
	model  *Model
	name   string
	mu     sync.Mutex
	cutOff chan struct{} // closed while the connection is cut

	// The state of the queue and when it was requested.
	state   queue.State
	stateAt time.Time
}

// Connect returns a connection. Options.Fault gets its name.
func (m *Model) Connect(name string) *Conn { return &Conn{model: m, name: name} }

// Cut cuts the connection, or restores it if cut is false.
func (c *Conn) Cut(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case cut && c.cutOff == nil:
		c.cutOff = make(chan struct{})
		close(c.cutOff)
	case !cut:
		c.cutOff = nil
	}
}

func (c *Conn) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cutOff != nil
}

func (m *Model) fault(c *Conn, op, key string) Fault {
	if c.isCut() {
		return Fault{Lost: true}
	}
	if m.opts.Fault == nil {
		return Fault{}
	}
	return m.opts.Fault(c.name, op, key)
}

// change wakes waiting operations. The caller holds m.mu.
func (m *Model) change() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// do performs an operation of a connection.
func (c *Conn) do(ctx context.Context, op, key string, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fault := c.model.fault(c, op, key)
	var err error
	if !fault.Lost {
		c.model.mu.Lock()
		err = f()
		c.model.mu.Unlock()
	}
	if fault.Lost || fault.ResponseLost {
		return c.wait(ctx, op)
	}
	return err
}

// wait waits for a response that does not arrive.
func (c *Conn) wait(ctx context.Context, op string) error {
	select {
	case <-time.After(c.model.opts.Timeout):
		return fmt.Errorf("%s: %w", op, errNoResponse)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stateCacheTime is how long the state of the queue is cached.
const stateCacheTime = 2 * time.Second

// State implements queue.Engine.
func (c *Conn) State(ctx context.Context) (queue.State, error) {
	c.mu.Lock()
	s, known, fresh := c.state, !c.stateAt.IsZero(), time.Since(c.stateAt) < stateCacheTime
	if known && !fresh {
		c.stateAt = time.Now() // one request at a time
	}
	c.mu.Unlock()
	if known && fresh {
		return s, nil
	}
	err := c.do(ctx, "get", "state", func() error {
		s = c.model.state
		return nil
	})
	if err != nil && !known {
		return "", err
	}
	c.setState(s)
	return s, nil
}

func (c *Conn) setState(s queue.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.stateAt = s, time.Now()
}

// Limits implements queue.Engine.
func (c *Conn) Limits() queue.Limits { return c.model.opts.Limits }

// Submit implements queue.Engine.
func (c *Conn) Submit(ctx context.Context, p queue.Priority, key string,
	data []byte) (duplicate bool, err error) {
	err = c.do(ctx, "submit", key, func() error {
		m, now := c.model, time.Now()
		if at, ok := m.keys[key]; ok && now.Sub(at) < m.opts.Window {
			duplicate = true
			return nil
		}
		if m.opts.MaxJobs > 0 && len(m.jobs[p]) >= m.opts.MaxJobs {
			return queue.ErrFull
		}
		m.keys[key] = now
		m.add(p, &message{key: key, data: data})
		return nil
	})
	return duplicate, err
}

// add puts a job behind all others. The caller holds m.mu.
func (m *Model) add(p queue.Priority, msg *message) {
	m.seq++
	msg.seq, msg.ready, msg.since = m.seq, time.Now(), time.Now()
	m.jobs[p] = append(m.jobs[p], msg)
	m.change()
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
			timer := time.NewTimer(min(wait, m.opts.Timeout)) // the connection may be cut while it waits
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
		d := &delivery{c, msg, p, msg.deliveries > 0, m.place(p, msg)}
		msg.deliveries++
		msg.ready = time.Now().Add(m.opts.AckWait)
		if fault.Twice {
			msg.ready = time.Now()
		}
		m.mu.Unlock()
		if fault.Lost || fault.ResponseLost { // a lost response counts as a delivery
			return nil, c.wait(ctx, "next")
		}
		return d, nil
	}
}

// pick returns the next message, or the time until one is ready. The caller holds m.mu.
func (m *Model) pick() (*message, queue.Priority, time.Duration) {
	now, wait := time.Now(), time.Hour
	for _, p := range queue.Priorities {
		taken := 0
		for _, msg := range m.jobs[p] {
			if msg.deliveries > 0 {
				taken++
			} else if taken >= m.opts.MaxTaken {
				break
			}
			remaining := msg.ready.Sub(now)
			if remaining <= 0 {
				return msg, p, 0
			}
			wait = min(wait, remaining)
		}
	}
	return nil, "", wait
}

// place returns the place of a job before its delivery. The caller holds m.mu.
func (m *Model) place(p queue.Priority, msg *message) queue.Place {
	list := m.jobs[p] // first deliveries are in order
	behind := len(list) - sort.Search(len(list), func(i int) bool { return list[i].deliveries == 0 })
	if msg.deliveries == 0 {
		behind--
	}
	return queue.Place{Sequence: msg.seq, Behind: uint64(behind), Moves: msg.moves, Since: msg.since}
}

type delivery struct {
	conn     *Conn
	msg      *message
	priority queue.Priority
	again    bool
	place    queue.Place
}

func (d *delivery) Data() []byte             { return d.msg.data }
func (d *delivery) Priority() queue.Priority { return d.priority }
func (d *delivery) Again() bool              { return d.again }
func (d *delivery) Place() queue.Place       { return d.place }

func (d *delivery) Ack(ctx context.Context) error {
	return d.conn.do(ctx, "ack", fmt.Sprint(d.msg.seq), func() error {
		m := d.conn.model
		for i, msg := range m.jobs[d.priority] {
			if msg == d.msg {
				m.jobs[d.priority] = slices.Delete(m.jobs[d.priority], i, i+1)
				break
			}
		}
		return nil
	})
}

// Move implements queue.Delivery. As in engines with servers, the job is added before it is removed, and
// the removal may fail on its own.
func (d *delivery) Move(ctx context.Context) error {
	err := d.conn.do(ctx, "move", fmt.Sprint(d.msg.seq), func() error {
		m := d.conn.model
		if m.opts.MaxJobs > 0 && len(m.jobs[d.priority]) >= m.opts.MaxJobs {
			return queue.ErrFull
		}
		m.add(d.priority, &message{key: d.msg.key, data: d.msg.data, moves: d.msg.moves + 1})
		return nil
	})
	if err == nil {
		d.Ack(ctx) // otherwise it is redelivered
	}
	return err
}

func (d *delivery) Extend() error {
	m := d.conn.model
	if m.fault(d.conn, "extend", fmt.Sprint(d.msg.seq)) != (Fault{}) {
		return nil // the request is lost
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d.msg.ready = time.Now().Add(m.opts.AckWait)
	return nil
}

func (d *delivery) Return(delay time.Duration) error {
	m := d.conn.model
	if m.fault(d.conn, "return", fmt.Sprint(d.msg.seq)) != (Fault{}) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d.msg.ready = time.Now().Add(delay)
	m.change()
	return nil
}

func (l *log) put(seq uint64, id string, data []byte) {
	if !l.ids[id] {
		l.ids[id] = true
		l.all = append(l.all, queue.Stored{Sequence: seq, ID: id, Data: data, Time: time.Now()})
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

// Finish implements queue.Engine. Faults are those of the operations "result" and "ack".
func (c *Conn) Finish(ctx context.Context, jobs []queue.Finished) []error {
	errs := make([]error, len(jobs))
	for _, step := range []func(queue.Finished) error{
		func(f queue.Finished) error { return c.PutResult(ctx, f.ID, f.Result) },
		func(f queue.Finished) error { return f.Delivery.Ack(ctx) },
	} {
		var group sync.WaitGroup
		for i, f := range jobs {
			if errs[i] == nil {
				group.Go(func() { errs[i] = step(f) })
			}
		}
		group.Wait()
	}
	return errs
}

func (c *Conn) put(ctx context.Context, op string, l *log, id string, data []byte) error {
	if len(data) > c.model.opts.Message {
		return fmt.Errorf("queuetest: the message has more than %d bytes", c.model.opts.Message)
	}
	return c.do(ctx, op, id, func() error {
		c.model.seq++
		l.put(c.model.seq, id, data)
		c.model.change()
		return nil
	})
}

// Result implements queue.Engine.
func (c *Conn) Result(ctx context.Context, id string) (data []byte, err error) {
	err = c.do(ctx, "get", "result "+id, func() error {
		l := &c.model.results
		if !l.ids[id] {
			return queue.ErrNotFound
		}
		for _, s := range l.all {
			if s.ID == id {
				data = s.Data
			}
		}
		return nil
	})
	return data, err
}
