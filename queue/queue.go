// Package queue retrieves many URLs by many workers: jobs wait in an engine, workers take them, and
// what they bring is kept once, however often a job is done.
//
// An [Engine] keeps jobs, results, dead letters and small values; queue/jetstream is one. A
// [Worker] takes jobs from it, does them by a job.Runner, and keeps contents in a [Store]. What the
// two promise together:
//
//   - A job that was accepted ends with a result, whatever becomes of workers and connections on the
//     way. It may be done more than once, but there is one result.
//   - A content is kept under its digest, before its job ends: done twice, it is there once.
//   - A job that fails for now is tried again later, after a pause that depends on the class of the
//     failure and on what the server asked for. One that keeps failing, that ends the workers that
//     do it, or that cannot be understood becomes a dead letter, with its last error.
//   - A host gets no more transfers at once than it bears, of all workers together, and rests for
//     all of them when it tells one that it is busy.
//
// The queue of a [Crawl] has pages for jobs, and what they lead to goes into the queue before they
// end. Each page has one result, however many lead to it.
//
// Jobs come from others: a worker's client must have a policy that says so (fetch.Policy.Untrusted).
package queue

import (
	"context"
	"errors"
	"iter"
	"time"
)

// A Priority is how urgent a job is. Its value is a token.
type Priority string

// The priorities. Workers prefer those that come first, but starve none.
const (
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

// Priorities are all of them, the most urgent one first.
var Priorities = []Priority{High, Normal, Low}

// Errors of engines.
var (
	ErrExists   = errors.New("queue: the key exists")
	ErrNotFound = errors.New("queue: no such key")
	ErrConflict = errors.New("queue: revision conflict")
	ErrClosed   = errors.New("queue: the engine is closed")
	ErrFull     = errors.New("queue: no room for another message")
)

// An Engine keeps what a queue consists of. It is safe for concurrent use. Every method ends with
// its context, and any may fail while the engine cannot be reached: it may then have done what it
// was asked or not.
type Engine interface {
	// Submit adds a job. If one with the same key was added within the engine's window, nothing is
	// added and duplicate is true. The error is ErrFull if there is no room.
	Submit(ctx context.Context, p Priority, key string, data []byte) (duplicate bool, err error)
	// Next waits for a job. It is then delivered to no other worker, unless it is returned, or
	// neither acknowledged nor extended for Limits.AckWait. Who cancels ctx wants no more jobs for now:
	// what the engine has taken ahead goes back.
	Next(ctx context.Context) (Delivery, error)

	// PutResult adds the result of the submission with that ID, and PutDead a dead letter. If there
	// is one already, nothing happens.
	PutResult(ctx context.Context, id string, data []byte) error
	PutDead(ctx context.Context, id string, data []byte) error
	// HasResult reports whether there is a result.
	HasResult(ctx context.Context, id string) (bool, error)

	// Leases are values that vanish Limits.LeaseTTL after they were last written, and Records are
	// values that vanish after days.
	Leases() Values
	Records() Values
	// Pages are values that stay: what is known of a crawl. It is nil if the queue is not that of a
	// crawl.
	Pages() Values

	Limits() Limits
}

// Limits are what an engine is set to.
type Limits struct {
	AckWait  time.Duration // until a delivery is taken for lost
	LeaseTTL time.Duration // until a lease that is not written again vanishes
	Message  int           // the greatest length of a message in bytes
}

// A Delivery is a job in the hands of a worker.
type Delivery interface {
	Data() []byte
	Priority() Priority
	// Again reports whether it may have been delivered before.
	Again() bool
	// Ack ends the job.
	Ack(ctx context.Context) error
	// Extend tells that the worker is still at it. It does not wait.
	Extend() error
	// Return gives the job back, to be delivered again after a delay. It does not wait.
	Return(delay time.Duration) error
}

// Values are small values by key. Keys consist of letters, digits, "-", "_", "." and "/".
type Values interface {
	// Get returns a value and its revision, or ErrNotFound.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Create adds a value; ErrExists if there is one.
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// Update replaces the value of a revision; ErrConflict if it is another one, or gone.
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// Put adds or replaces a value.
	Put(ctx context.Context, key string, value []byte) error
	// Delete removes the value of a revision, or any if it is 0; ErrConflict if it is another one.
	Delete(ctx context.Context, key string, revision uint64) error
}

// A Stored message is a result or a dead letter.
type Stored struct {
	Sequence uint64 // grows from one to the next
	ID       string // of the submission
	Data     []byte
}

// An Admin looks after a queue. Engines implement it as well.
type Admin interface {
	Engine
	Status(ctx context.Context) (*Status, error)
	// Results and Dead yield what there is, in order, after that sequence number. With follow,
	// Results goes on with what comes until ctx ends, which is no error.
	Results(ctx context.Context, after uint64, follow bool) iter.Seq2[Stored, error]
	Dead(ctx context.Context, after uint64) iter.Seq2[Stored, error]
	// DropDead removes a dead letter.
	DropDead(ctx context.Context, sequence uint64) error
	// Purge removes all messages of a kind, and returns how many they were.
	Purge(ctx context.Context, k Kind) (uint64, error)
}

// A Kind is a kind of messages. Its value is a token.
type Kind string

// The kinds.
const (
	KindJobs    Kind = "jobs"
	KindResults Kind = "results"
	KindDead    Kind = "dead"
)

// Status is what is in a queue. In JSON, sizes are in bytes.
type Status struct {
	Waiting map[Priority]uint64 `json:"waiting"` // jobs that no worker has
	Taken   map[Priority]uint64 `json:"taken"`   // jobs that workers have, or that are to be tried again later
	Results uint64              `json:"results"`
	Dead    uint64              `json:"dead"`
	Bytes   uint64              `json:"bytes"` // of all messages
	Server  string              `json:"server,omitempty"`
	// Replicas is how many servers have each message, and Missing how many of them are not there or
	// behind.
	Replicas int `json:"replicas,omitempty"`
	Missing  int `json:"missing,omitempty"`
}

// Depth is the number of jobs that have not ended.
func (s *Status) Depth() (n uint64) {
	for _, p := range Priorities {
		n += s.Waiting[p] + s.Taken[p]
	}
	return n
}
