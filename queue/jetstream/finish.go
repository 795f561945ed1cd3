package jetstream

import (
	"cmp"
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/queue"
)

// Finish implements queue.Engine. The messages of a group are sent without waiting for the response to
// each: the results wait for the last response, and the acknowledgements only for one of each priority.
//
// An atomic batch (Nats-Batch-Id) is not used: on a single server it creates and deletes a store in the
// file system, and one result that exists refuses the others.
func (e *Engine) Finish(ctx context.Context, jobs []queue.Finished) []error {
	errs := e.putResults(ctx, jobs)
	var streams []string
	for _, c := range e.consumers {
		streams = append(streams, c.CachedInfo().Stream)
	}
	e.operations.guard(ctx, func(ctx context.Context) error { return e.ackAll(ctx, jobs, errs) }, streams...)
	return errs
}

// ackAll acknowledges the jobs without errors. A consumer receives acknowledgements in order, so the
// response to the last one means that it has the others. If its leader fails, a few jobs are delivered
// again, and have results.
func (e *Engine) ackAll(ctx context.Context, jobs []queue.Finished, errs []error) error {
	last := map[queue.Priority]int{}
	for i, f := range jobs {
		d, own := f.Delivery.(*delivery)
		switch {
		case errs[i] != nil:
		case !own:
			errs[i] = f.Delivery.Ack(ctx)
		default:
			if before, ok := last[d.priority]; ok {
				errs[before] = e.sendAck(jobs[before].Delivery.(*delivery))
			}
			last[d.priority] = i
		}
	}
	for p, i := range last {
		if err := jobs[i].Delivery.Ack(ctx); err != nil {
			for k, f := range jobs {
				if f.Delivery.Priority() == p {
					errs[k] = cmp.Or(errs[k], err)
				}
			}
		}
	}
	return ctx.Err()
}

func (e *Engine) putResults(ctx context.Context, jobs []queue.Finished) []error {
	errs := make([]error, len(jobs))
	err := e.operations.guard(ctx, func(ctx context.Context) error {
		acks := make([]js.PubAckFuture, len(jobs))
		for i, f := range jobs {
			acks[i], errs[i] = e.js.PublishAsync(e.crawlSubject("results", f.ID), f.Result,
				js.WithMsgID(f.ID), js.WithExpectLastSequencePerSubject(0))
		}
		for i, ack := range acks {
			if errs[i] != nil {
				continue
			}
			select {
			case <-ack.Ok():
			case errs[i] = <-ack.Err():
				switch {
				case isWrongRevision(errs[i]):
					errs[i] = nil // it already exists
				case errors.Is(errs[i], nats.ErrDisconnected):
					errs[i] = errLost
				}
			case <-ctx.Done():
				errs[i] = ctx.Err()
			}
		}
		return ctx.Err()
	}, e.crawlSubject("results", ""))
	for i := range errs {
		if errs[i] != nil && err != nil {
			errs[i] = e.explainDenied(err)
		}
	}
	return errs
}

// sendAck acknowledges a job without a response. Unlike Ack of js.Msg it can be repeated.
func (e *Engine) sendAck(d *delivery) error { return e.conn.Publish(d.msg.Reply(), []byte("+ACK")) }
