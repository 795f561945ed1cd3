package jetstream

import (
	"context"
	"iter"
	"strings"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/queue"
)

// workerKey returns the key of the report of a worker. Crawls share the leases of their queue.
func (e *Engine) workerKey(id string) string {
	if e.opts.Crawl != "" {
		return "worker.crawl." + e.opts.Crawl + "." + id
	}
	return "worker." + id
}

// PutWorker implements queue.Engine.
func (e *Engine) PutWorker(ctx context.Context, id string, data []byte) error {
	if data == nil {
		return e.leases.Delete(ctx, e.workerKey(id), 0)
	}
	return e.leases.Put(ctx, e.workerKey(id), data)
}

const (
	// workersWait limits the wait for the reports of workers: some may expire before they are read.
	workersWait = time.Second
	// consumerTime is how long the server keeps the consumer if the client cannot delete it.
	consumerTime = 10 * time.Second
)

// Workers implements queue.Admin.
func (e *Engine) Workers(ctx context.Context) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		var list []queue.Stored
		err := e.leases.guard(ctx, func(ctx context.Context) (err error) {
			list, err = e.readWorkers(ctx)
			return err
		})
		if err != nil {
			yield(queue.Stored{}, explain(&e.opts, err))
			return
		}
		for _, m := range list {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// readWorkers reads the reports of all workers with three requests.
func (e *Engine) readWorkers(ctx context.Context) (list []queue.Stored, err error) {
	s := e.leases.stream
	c, err := s.CreateConsumer(ctx,
		js.ConsumerConfig{FilterSubject: e.leases.prefix + e.workerKey("*"),
			DeliverPolicy: js.DeliverLastPerSubjectPolicy,
			AckPolicy:     js.AckNonePolicy, InactiveThreshold: consumerTime, MemoryStorage: true,
			Replicas: 1})
	if err != nil {
		return nil, err
	}
	info := c.CachedInfo()
	defer s.DeleteConsumer(ctx, info.Name)
	n := int(min(info.NumPending, queue.MaxWorkers))
	if n == 0 {
		return nil, nil
	}
	batch, err := c.Fetch(n, js.FetchMaxWait(workersWait))
	if err != nil {
		return nil, err
	}
	for m := range batch.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		id := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
		list = append(list, queue.Stored{Sequence: meta.Sequence.Stream, ID: id, Data: m.Data()})
	}
	if ctx.Err() != nil { // the server may have denied to deliver
		return nil, ctx.Err()
	}
	return list, batch.Error()
}
