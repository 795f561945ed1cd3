package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/queue"
)

// settleTime is how long the server may take to remove an acknowledged job.
const settleTime = time.Second

// Restore submits the jobs again that the server has and would never deliver, and returns their number.
// After a power failure a stream may have lost the removal of a job, while its consumer knows that the job
// was acknowledged. The result of such a job may be lost, too; if it is not, the job gets no second one.
func (e *Engine) Restore(ctx context.Context) (n int, err error) {
	for _, p := range queue.Priorities {
		one, err := e.restore(ctx, p)
		n += one
		if err != nil {
			return n, explain(&e.opts, err)
		}
	}
	return n, nil
}

// restore is Restore for a priority.
func (e *Engine) restore(ctx context.Context, p queue.Priority) (n int, err error) {
	b, err := e.backlog(ctx, p)
	if err != nil || !b.isStuck() {
		return 0, err
	}
	var stuck []uint64
	for m, err := range e.Jobs(ctx, p) {
		if err != nil {
			return 0, err
		}
		if m.Sequence > b.consumer.AckFloor.Stream {
			break
		}
		stuck = append(stuck, m.Sequence)
	}
	if len(stuck) == 0 {
		return 0, nil
	}
	if err := retry.Sleep(ctx, settleTime); err != nil {
		return 0, err
	}
	for _, seq := range stuck {
		msg, err := e.message(ctx, b.stream, seq)
		if errors.Is(err, js.ErrMsgNotFound) {
			continue
		}
		if err == nil { // several workers may do this
			_, err = e.publish(ctx, e.crawlSubject("jobs", string(p)), msg.Data,
				js.WithMsgID(fmt.Sprintf("restored/%d/%d", seq, msg.Time.UnixNano())))
		}
		if err == nil {
			err = e.drop(ctx, b.stream, seq)
		}
		if err != nil && !errors.Is(err, queue.ErrNotFound) {
			return n, err
		}
		n++
	}
	return n, nil
}

func (e *Engine) message(ctx context.Context, s js.Stream, seq uint64,
	opts ...js.GetMsgOpt) (msg *js.RawStreamMsg, err error) {
	err = e.operations.guard(ctx, func(ctx context.Context) error {
		msg, err = s.GetMsg(ctx, seq, opts...)
		return err
	}, s.CachedInfo().Config.Name)
	return msg, err
}

// restoreOwn is restore for a worker, which may not have the rights.
func (e *Engine) restoreOwn(p queue.Priority) {
	n, err := e.restore(e.ctx, p)
	switch {
	case e.ctx.Err() != nil:
	case err != nil:
		e.opts.Logger.Warn("the server has jobs that it would never deliver, and they cannot be "+
			`submitted again; run "urlget queue audit"`, "priority", p, "error", explain(&e.opts, err))
	case n > 0:
		e.opts.Logger.Warn("jobs were submitted again that the server would never deliver", "priority", p,
			"jobs", n)
	}
}
