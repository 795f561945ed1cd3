// Package queue retrieves many URLs with many workers. Jobs wait in an engine until a worker takes
// them. Each body is stored once, however often its job is executed.
//
// An [Engine] holds jobs, results, dead letters and small values; queue/jetstream implements one. A
// [Worker] takes jobs from it, executes them with a job.Runner and stores bodies in a [Store].
// Together they guarantee:
//
//   - An accepted job ends with exactly one result, even if workers or connections fail. It may be
//     executed more than once.
//   - A body is stored under its digest before its job ends. A second execution does not store it
//     again.
//   - A job with a transient failure is retried. The pause depends on the class of the failure and
//     on Retry-After. A job becomes a dead letter, with its last error, if it keeps failing,
//     crashes its workers or cannot be decoded.
//   - The number of concurrent transfers from a host is limited for all workers together. If a host
//     reports to one worker that it is busy, all workers pause it.
//
// The jobs of a [Crawl] are pages. The links of a page are queued before its job ends. Each page
// has one result, however many links lead to it.
//
// Jobs are untrusted: the client of a worker must have a policy with fetch.Policy.Untrusted.
package queue

import (
	"context"
	"errors"
	"iter"
	"time"
)

// A Priority is the urgency of a job. Its value is part of subjects and keys.
type Priority string

// The priorities in descending order. Workers prefer higher priorities, but no priority starves.
const (
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

// Priorities lists all priorities in descending order.
var Priorities = []Priority{High, Normal, Low}

// A State is the state of a queue.
type State string

// The states of a queue. The zero value is Running.
const (
	Running  State = ""
	Paused   State = "paused"   // workers start no more jobs; running jobs finish
	Draining State = "draining" // submissions are refused; workers finish the jobs that are there
)

// ErrDraining is returned by Submit, SubmitAgain, Crawl.Submit, Crawl.SetCookies and Letter.Retry if
// the queue is Draining.
var ErrDraining = errors.New("the queue is draining and refuses submissions")

// Errors of engines.
var (
	ErrExists   = errors.New("queue: the key exists")
	ErrNotFound = errors.New("queue: no such key")
	ErrConflict = errors.New("queue: revision conflict")
	ErrClosed   = errors.New("queue: the engine is closed")
	ErrFull     = errors.New("queue: no room for another message")
)

// An Engine holds a queue. It is safe for concurrent use. Every method returns when its context
// ends. Any method may fail while the engine is unreachable; the operation may then have been
// performed.
type Engine interface {
	// Submit adds a job. If a job with the same key was added within the engine's window, Submit
	// adds nothing and duplicate is true. If the queue is full, the error is ErrFull.
	Submit(ctx context.Context, p Priority, key string, data []byte) (duplicate bool, err error)
	// Next waits for a job. The job is redelivered if it is returned, or if it is neither
	// acknowledged nor extended for Limits.AckWait. Cancelling ctx also makes the engine return
	// jobs that it has prefetched. An error of class fetch.ErrRefused ends the worker.
	Next(ctx context.Context) (Delivery, error)

	// PutResult adds the result of the submission with that ID, and PutDead a dead letter. They do
	// nothing if there is one already.
	PutResult(ctx context.Context, id string, data []byte) error
	PutDead(ctx context.Context, id string, data []byte) error
	// Finish adds the result of each job as PutResult does, and then acknowledges the job. It returns
	// an error for each: if it is not nil, the result or the acknowledgement may be missing. No job is
	// acknowledged before its result is stored.
	Finish(ctx context.Context, jobs []Finished) []error
	// Result returns the result of the submission, or ErrNotFound.
	Result(ctx context.Context, id string) ([]byte, error)

	// Leases holds values that expire Limits.LeaseTTL after the last write. Records holds values
	// that expire after days.
	Leases() Values
	Records() Values
	// PutWorker stores the report of a worker. It expires Limits.LeaseTTL after the last write. Nil
	// data removes it. The ID is unique and consists of letters and digits.
	PutWorker(ctx context.Context, id string, data []byte) error
	// Pages holds the persistent state of a crawl. It returns nil if the queue is not a crawl
	// queue.
	Pages() Values
	// Secrets holds the logins and cookies of a crawl, for workers and submitters. It returns nil if the
	// queue is not a crawl queue.
	Secrets() Values

	// State returns the state of the queue, at most about two seconds old. While the engine is
	// unreachable, it may return an older one. It is called for each job.
	State(ctx context.Context) (State, error)
	// HostLimits returns the text of the limits of hosts that the queue holds, or nil. A crawl has
	// those of its queue.
	HostLimits(ctx context.Context) ([]byte, error)
	// Segments returns the list of the segments of the queue or crawl, see Compact, and its revision.
	// Without a list, both are zero. It returns a list that was set before the call.
	Segments(ctx context.Context) (list []byte, revision uint64, err error)
	Limits() Limits
}

// Limits are the settings of an engine.
type Limits struct {
	AckWait  time.Duration // after which an unacknowledged job is redelivered
	LeaseTTL time.Duration // after which a lease that is not renewed expires
	Message  int           // maximum message size in bytes
}

// A Delivery is a job that a worker has taken.
type Delivery interface {
	Data() []byte
	Priority() Priority
	// Again reports whether the job may have been delivered before.
	Again() bool
	// Ack removes the job from the queue.
	Ack(ctx context.Context) error
	// Extend resets the acknowledgement timeout. It does not wait.
	Extend() error
	// Return puts the job back, to be redelivered after a delay. It does not wait.
	Return(delay time.Duration) error
	// Place returns the place of the job when it was delivered.
	Place() Place
	// Move puts the job behind all others of its priority, where it counts as never delivered. After
	// an error, which is ErrFull if the queue has no room, it may be in both places.
	Move(ctx context.Context) error
}

// A Place is the place of a job among those of its priority.
type Place struct {
	Sequence uint64    // that of Stored
	Behind   uint64    // number of other jobs that were never delivered
	Moves    int       // how often the job was moved
	Since    time.Time // when it was submitted or last moved
}

// A Finished job is a delivery with the result of its submission.
type Finished struct {
	Delivery Delivery
	ID       string // of the submission
	Result   []byte
}

// Values stores small values by key. Keys consist of letters, digits, "-", "_", "." and "/".
type Values interface {
	// Get returns a value and its revision, or ErrNotFound.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Create adds a value. It returns ErrExists if the key exists.
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// Update replaces the value if it has that revision. Otherwise it returns ErrConflict.
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// Put adds or replaces a value.
	Put(ctx context.Context, key string, value []byte) error
	// Delete removes the value, whatever its revision if revision is 0. It returns ErrConflict if
	// the revision differs.
	Delete(ctx context.Context, key string, revision uint64) error
}

// A Stored message is a job, a result, a dead letter, a value of a crawl or the report of a worker.
type Stored struct {
	Sequence uint64 // strictly increasing
	ID       string // of the submission or the worker
	Data     []byte
	Taken    bool      // reports whether a worker has taken the job; it may have returned it
	Time     time.Time // when the engine stored it; only of results and values
}

// An Admin manages a queue. Engines implement it as well.
type Admin interface {
	Engine
	Status(ctx context.Context) (*Status, error)
	// SetState changes the state. Workers and submitters notice within seconds.
	SetState(ctx context.Context, s State) error
	// SetHostLimits replaces the limits of hosts, see HostLimits.String. Workers notice within
	// seconds. Text that is empty removes them. Text that exceeds Limits.Message has an error of
	// class fetch.ErrTooLarge.
	SetHostLimits(ctx context.Context, text []byte) error
	// SetSegments replaces the list of segments if it has that revision, and returns the new one. Otherwise
	// it returns ErrConflict.
	SetSegments(ctx context.Context, list []byte, revision uint64) (uint64, error)
	// RemoveResults removes the results with sequence numbers up to last.
	RemoveResults(ctx context.Context, last uint64) error
	// PageValues yields the values of Pages in the order in which they were written. Their ID is the key.
	PageValues(ctx context.Context) iter.Seq2[Stored, error]
	// RemovePages removes the values of Pages with sequence numbers, which are revisions, up to last.
	RemovePages(ctx context.Context, last uint64) error
	// Results and Dead yield messages in order, starting after that sequence number. With follow,
	// Results waits for further results until ctx ends, which is not an error.
	Results(ctx context.Context, after uint64, follow bool) iter.Seq2[Stored, error]
	Dead(ctx context.Context, after uint64) iter.Seq2[Stored, error]
	// Workers yields the reports of the workers of the queue or crawl that have not expired, at most
	// MaxWorkers, in any order.
	Workers(ctx context.Context) iter.Seq2[Stored, error]
	// Jobs yields the unfinished jobs of a priority in order. Their ID is not set, see Stored.Job.
	Jobs(ctx context.Context, p Priority) iter.Seq2[Stored, error]
	// DropJob removes a job, and DropDead a dead letter. If there is none, the error is ErrNotFound.
	// A removed job may be submitted again within the engine's window.
	DropJob(ctx context.Context, p Priority, sequence uint64) error
	DropDead(ctx context.Context, sequence uint64) error
	// PurgeJobs, PurgeResults and PurgeDead remove all jobs, results or dead letters. They return
	// the number removed.
	PurgeJobs(ctx context.Context) (uint64, error)
	PurgeResults(ctx context.Context) (uint64, error)
	PurgeDead(ctx context.Context) (uint64, error)
}

// Status describes the contents of a queue. In JSON, sizes are in bytes.
type Status struct {
	Waiting map[Priority]uint64 `json:"waiting"` // jobs not taken by a worker
	Taken   map[Priority]uint64 `json:"taken"`   // jobs taken by workers, or waiting for a retry
	Results uint64              `json:"results"` // also those in segments
	Dead    uint64              `json:"dead"`
	Bytes   uint64              `json:"bytes"` // of all messages
	Server  string              `json:"server,omitempty"`
	// Replicas is the number of servers that store each message. Missing is how many of them are
	// offline or lagging, and Absent has their names.
	Replicas int      `json:"replicas,omitempty"`
	Missing  int      `json:"missing,omitempty"`
	Absent   []string `json:"absent,omitempty"`
}

// Depth returns the number of unfinished jobs.
func (s *Status) Depth() (n uint64) {
	for _, p := range Priorities {
		n += s.Waiting[p] + s.Taken[p]
	}
	return n
}
