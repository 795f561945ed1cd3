package jetstream

import (
	"context"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/queue"
)

// A backlog is the state of the unfinished jobs of a priority.
type backlog struct {
	consumer *js.ConsumerInfo
	stream   js.Stream
	jobs     *js.StreamInfo
}

// backlog requests the state of the consumer and then that of the stream.
func (e *Engine) backlog(ctx context.Context, p queue.Priority) (*backlog, error) {
	c, err := e.consumers[p].Info(ctx)
	if err != nil {
		return nil, err
	}
	s, err := e.js.Stream(ctx, c.Stream)
	if err != nil {
		return nil, err
	}
	return &backlog{c, s, s.CachedInfo()}, nil
}

// waiting returns the number of jobs that no worker has taken. The stream contains every unfinished job
// immediately. The consumer learns of it later, and reports nothing pending until then.
func (b *backlog) waiting() int64 { return int64(b.jobs.State.Msgs) - int64(b.consumer.NumAckPending) }

// isStuck reports whether the stream has jobs that the consumer knows as acknowledged. It would never
// deliver them. Right after an acknowledgement that is usual.
func (b *backlog) isStuck() bool {
	return b.jobs.State.Msgs > 0 && b.jobs.State.FirstSeq <= b.consumer.AckFloor.Stream
}
