package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch/queue"
)

// Status implements queue.Admin.
func (e *Engine) Status(ctx context.Context) (*queue.Status, error) {
	s := &queue.Status{Waiting: map[queue.Priority]uint64{}, Taken: map[queue.Priority]uint64{},
		Server: fmt.Sprintf("%s %s", e.conn.ConnectedServerName(), e.conn.ConnectedServerVersion())}
	for _, p := range queue.Priorities {
		info, err := e.consumers[p].Info(ctx)
		if err != nil {
			return nil, explain(&e.opts, err)
		}
		s.Waiting[p], s.Taken[p] = info.NumPending, uint64(info.NumAckPending)
		stream, err := e.js.Stream(ctx, info.Stream)
		if err != nil {
			return nil, explain(&e.opts, err)
		}
		addInfo(s, stream.CachedInfo())
	}
	for _, l := range []struct {
		stream js.Stream
		n      *uint64
	}{{e.results, &s.Results}, {e.dead, &s.Dead}} {
		info, err := l.stream.Info(ctx)
		if err != nil {
			return nil, explain(&e.opts, err)
		}
		*l.n = info.State.Msgs
		addInfo(s, info)
	}
	return s, nil
}

func addInfo(s *queue.Status, info *js.StreamInfo) {
	s.Bytes += info.State.Bytes
	s.Replicas = max(s.Replicas, info.Config.Replicas)
	if info.Cluster == nil {
		return
	}
	missing := 0
	for _, r := range info.Cluster.Replicas {
		if r.Offline || !r.Current {
			missing++
		}
	}
	s.Missing = max(s.Missing, missing)
}

// Results implements queue.Admin.
func (e *Engine) Results(ctx context.Context, after uint64, follow bool) iter.Seq2[queue.Stored, error] {
	return e.list(ctx, e.results, after, follow)
}

// Dead implements queue.Admin.
func (e *Engine) Dead(ctx context.Context, after uint64) iter.Seq2[queue.Stored, error] {
	return e.list(ctx, e.dead, after, false)
}

func (e *Engine) list(ctx context.Context, s js.Stream, after uint64, follow bool) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		info, err := s.Info(ctx)
		if err != nil {
			yield(queue.Stored{}, explain(&e.opts, err))
			return
		}
		last := info.State.LastSeq
		if !follow && (info.State.Msgs == 0 || after >= last) {
			return
		}
		c, err := s.OrderedConsumer(ctx, js.OrderedConsumerConfig{DeliverPolicy: js.DeliverByStartSequencePolicy, OptStartSeq: after + 1})
		if err != nil {
			yield(queue.Stored{}, explain(&e.opts, err))
			return
		}
		messages, err := c.Messages()
		if err != nil {
			yield(queue.Stored{}, explain(&e.opts, err))
			return
		}
		defer messages.Stop()
		for {
			msg, err := messages.Next(js.NextContext(ctx))
			if ctx.Err() != nil {
				if !follow {
					yield(queue.Stored{}, explain(&e.opts, ctx.Err()))
				}
				return
			}
			if errors.Is(err, js.ErrNoHeartbeat) {
				continue // the consumer is made again
			}
			if err != nil {
				yield(queue.Stored{}, explain(&e.opts, err))
				return
			}
			meta, err := msg.Metadata()
			if err != nil {
				yield(queue.Stored{}, err)
				return
			}
			id := msg.Subject()[strings.LastIndexByte(msg.Subject(), '.')+1:]
			if !yield(queue.Stored{Sequence: meta.Sequence.Stream, ID: id, Data: msg.Data()}, nil) {
				return
			}
			if !follow && (meta.NumPending == 0 || meta.Sequence.Stream >= last) {
				return
			}
		}
	}
}

// DropDead implements queue.Admin.
func (e *Engine) DropDead(ctx context.Context, sequence uint64) error {
	err := e.dead.DeleteMsg(ctx, sequence)
	if errors.Is(err, js.ErrMsgNotFound) || errors.Is(err, js.ErrMsgDeleteUnsuccessful) {
		return queue.ErrNotFound
	}
	return err
}

// Purge implements queue.Admin.
func (e *Engine) Purge(ctx context.Context, k queue.Kind) (uint64, error) {
	var streams []js.Stream
	switch k {
	case queue.KindResults:
		streams = append(streams, e.results)
	case queue.KindDead:
		streams = append(streams, e.dead)
	case queue.KindJobs:
		for _, p := range queue.Priorities {
			s, err := e.js.Stream(ctx, e.consumers[p].CachedInfo().Stream)
			if err != nil {
				return 0, explain(&e.opts, err)
			}
			streams = append(streams, s)
		}
	}
	var n uint64
	for _, s := range streams {
		info, err := s.Info(ctx)
		if err == nil {
			n += info.State.Msgs
			err = s.Purge(ctx)
		}
		if err != nil {
			return n, explain(&e.opts, err)
		}
	}
	return n, nil
}
