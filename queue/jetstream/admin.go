package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/queue"
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
		stream, err := e.js.Stream(ctx, info.Stream)
		if err != nil {
			return nil, explain(&e.opts, err)
		}
		// The stream has every job that has not ended as soon as it was taken; the consumer learns of
		// it later, and says until then that nothing is pending.
		jobs := stream.CachedInfo()
		s.Taken[p] = min(uint64(info.NumAckPending), jobs.State.Msgs)
		s.Waiting[p] = jobs.State.Msgs - s.Taken[p]
		addInfo(s, jobs)
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
		var opts []js.PullMessagesOpt
		if !follow {
			opts = append(opts, js.PullHeartbeat(heartbeat))
		}
		messages, err := c.Messages(opts...)
		if err != nil {
			yield(queue.Stored{}, explain(&e.opts, err))
			return
		}
		defer messages.Stop()
		had := uint64(0) // as the consumer counts
		for {
			msg, err := next(ctx, messages, follow)
			if ctx.Err() != nil {
				if !follow {
					yield(queue.Stored{}, explain(&e.opts, ctx.Err()))
				}
				return
			}
			if !follow && errors.Is(err, context.DeadlineExceeded) {
				if nothingLeft(ctx, c, had) {
					return // what was to come was removed meanwhile
				}
				continue
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
			had = meta.Sequence.Consumer
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

// quiet is after what time without a message a list looks whether there are more: a consumer that does
// not tell that it is there is made again before that.
const (
	heartbeat = time.Second
	quiet     = 3 * heartbeat
)

// next waits for a message: for a moment only, unless it follows what comes.
func next(ctx context.Context, messages js.MessagesContext, follow bool) (js.Msg, error) {
	if !follow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, quiet)
		defer cancel()
	}
	return messages.Next(js.NextContext(ctx))
}

// nothingLeft reports whether a consumer has nothing more to deliver, and nothing is on the way.
func nothingLeft(ctx context.Context, c js.Consumer, had uint64) bool {
	info, err := c.Info(ctx)
	return err == nil && info.NumPending == 0 && (info.Delivered.Consumer == 0 || info.Delivered.Consumer == had)
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
	var n uint64
	purge := func(s js.Stream) (last uint64, err error) {
		info, err := s.Info(ctx)
		if err != nil {
			return 0, err
		}
		n, last = n+info.State.Msgs, info.State.LastSeq
		return last, s.Purge(ctx, js.WithPurgeSequence(last+1))
	}
	var err error
	switch k {
	case queue.KindResults:
		_, err = purge(e.results)
	case queue.KindDead:
		_, err = purge(e.dead)
	case queue.KindJobs:
		for _, p := range queue.Priorities {
			var s js.Stream
			var last uint64
			if s, err = e.js.Stream(ctx, e.consumers[p].CachedInfo().Stream); err == nil {
				last, err = purge(s)
			}
			if err == nil && last > 0 {
				err = e.records.Put(ctx, e.purgedKey(p), strconv.AppendUint(nil, last, 10))
			}
			if err != nil {
				break
			}
		}
	}
	if err != nil {
		err = explain(&e.opts, err)
	}
	return n, err
}

// purgedKey is where it is noted up to which sequence number the jobs of a priority were purged: the
// server goes on to take them for submitted.
func (e *Engine) purgedKey(p queue.Priority) string {
	return path.Join("purged", e.opts.Crawl, "jobs-"+string(p))
}

// purged returns up to which sequence number the jobs of a priority were purged.
func (e *Engine) purged(ctx context.Context, p queue.Priority) (uint64, error) {
	value, _, err := e.records.Get(ctx, e.purgedKey(p))
	if errors.Is(err, queue.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	last, _ := strconv.ParseUint(string(value), 10, 64) // 0 if it is none
	return last, nil
}
