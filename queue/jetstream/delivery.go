package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
)

type delivery struct {
	engine   *Engine
	msg      js.Msg
	priority queue.Priority
	again    bool
	place    queue.Place
	first    uint64 // the sequence number of the submission
}

// movedHeader is in the messages of moved jobs. It has the number of moves and the sequence number of
// the submission, for which the server detects duplicates.
const movedHeader = "Urlget-Moved"

func newDelivery(e *Engine, msg js.Msg, p queue.Priority) *delivery {
	d := &delivery{engine: e, msg: msg, priority: p, again: true}
	if meta, err := msg.Metadata(); err == nil {
		d.again, d.first = meta.NumDelivered > 1, meta.Sequence.Stream
		d.place = queue.Place{Sequence: meta.Sequence.Stream, Behind: meta.NumPending, Since: meta.Timestamp}
	}
	if moves, first, ok := parseMoved(msg.Headers()); ok {
		d.place.Moves, d.first = moves, first
	}
	return d
}

func parseMoved(h nats.Header) (moves int, first uint64, ok bool) {
	n, err := fmt.Sscanf(h.Get(movedHeader), "%d %d", &moves, &first)
	return moves, first, n == 2 && err == nil && moves > 0
}

func (d *delivery) Data() []byte                  { return d.msg.Data() }
func (d *delivery) Priority() queue.Priority      { return d.priority }
func (d *delivery) Again() bool                   { return d.again }
func (d *delivery) Ack(ctx context.Context) error { return d.msg.DoubleAck(ctx) }
func (d *delivery) Extend() error                 { return d.msg.InProgress() }
func (d *delivery) Place() queue.Place            { return d.place }
func (d *delivery) Return(delay time.Duration) error {
	return d.msg.NakWithDelay(max(delay, time.Millisecond))
}

// Move implements queue.Delivery. The new message has no ID: a job moves often, and the server would
// remember each ID for Options.Window.
func (d *delivery) Move(ctx context.Context) error {
	e := d.engine
	msg := nats.NewMsg(e.crawlSubject("jobs", string(d.priority)))
	msg.Data = d.msg.Data()
	msg.Header.Set(movedHeader, fmt.Sprint(d.place.Moves+1, d.first))
	err := e.operations.guard(ctx, func(ctx context.Context) error {
		_, err := e.js.PublishMsg(ctx, msg)
		return err
	}, msg.Subject)
	if isFull(err) {
		return &fetch.Error{Code: fetch.ErrServer, Retry: true, Err: fmt.Errorf("%w: %w", queue.ErrFull, err)}
	}
	if err != nil {
		return explain(&e.opts, err)
	}
	return d.msg.Ack() // if it is lost, the job is in both places
}
