package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/queue"
)

// Status implements queue.Admin.
func (e *Engine) Status(ctx context.Context) (s *queue.Status, err error) {
	err = e.operations.guard(ctx, func(ctx context.Context) error {
		s, err = e.status(ctx)
		return err
	}, ".INFO."+e.opts.Name)
	return s, explain(&e.opts, err)
}

func (e *Engine) status(ctx context.Context) (*queue.Status, error) {
	s := &queue.Status{Waiting: map[queue.Priority]uint64{}, Taken: map[queue.Priority]uint64{},
		Server: fmt.Sprintf("%s %s", e.conn.ConnectedServerName(), e.conn.ConnectedServerVersion())}
	for _, p := range queue.Priorities {
		b, err := e.backlog(ctx, p)
		if err != nil {
			return nil, err
		}
		s.Waiting[p] = uint64(max(b.waiting(), 0))
		s.Taken[p] = b.jobs.State.Msgs - s.Waiting[p]
		addInfo(s, b.jobs)
	}
	l, err := e.segments(ctx)
	if err != nil {
		return nil, err
	}
	results, err := e.results.Info(ctx)
	if err != nil {
		return nil, err
	}
	dead, err := e.dead.Info(ctx)
	if err != nil {
		return nil, err
	}
	addInfo(s, results)
	addInfo(s, dead)
	s.Results, s.Dead = results.State.Msgs, dead.State.Msgs
	first := results.State.FirstSeq
	if s.Results == 0 {
		first = 0
	}
	s.Results += l.Count(first, results.State.FirstTime)
	return s, nil
}

func (e *Engine) segments(ctx context.Context) (*queue.Segments, error) {
	data, _, err := e.Segments(ctx)
	if err != nil {
		return nil, err
	}
	return queue.ParseSegments(data)
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
			if name := nameOf(r); !slices.Contains(s.Absent, name) {
				s.Absent = append(s.Absent, name)
			}
		}
	}
	s.Missing = max(s.Missing, missing)
}

// Results implements queue.Admin.
func (e *Engine) Results(ctx context.Context, after uint64, follow bool) iter.Seq2[queue.Stored, error] {
	return e.list(ctx, e.results, e.crawlSubject("results", ""), after, follow)
}

// Dead implements queue.Admin.
func (e *Engine) Dead(ctx context.Context, after uint64) iter.Seq2[queue.Stored, error] {
	return e.list(ctx, e.dead, e.crawlSubject("dead", ""), after, false)
}

// PageValues implements queue.Admin.
func (e *Engine) PageValues(ctx context.Context) iter.Seq2[queue.Stored, error] {
	return e.list(ctx, e.pages.stream, e.pages.prefix, 0, false)
}

// RemovePages implements queue.Admin.
func (e *Engine) RemovePages(ctx context.Context, last uint64) error {
	return explain(&e.opts, e.purgeUpTo(ctx, e.pages.stream, last))
}

// Jobs implements queue.Admin. The stream of jobs has no place for another consumer, so each job is
// read on its own.
func (e *Engine) Jobs(ctx context.Context, p queue.Priority) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		b, err := e.backlog(ctx, p)
		if err != nil {
			yield(queue.Stored{}, explain(&e.opts, err))
			return
		}
		subject := e.crawlSubject("jobs", string(p))
		for seq := b.jobs.State.FirstSeq; ; seq++ {
			msg, err := e.message(ctx, b.stream, seq, js.WithGetMsgSubject(subject))
			if errors.Is(err, js.ErrMsgNotFound) {
				return
			}
			if err != nil {
				yield(queue.Stored{}, explain(&e.opts, err))
				return
			}
			seq = msg.Sequence
			if !yield(queue.Stored{Sequence: seq, Data: msg.Data, Taken: seq <= b.consumer.Delivered.Stream},
				nil) {
				return
			}
		}
	}
}

// list yields the messages of a stream. Their ID is the subject without the prefix.
func (e *Engine) list(ctx context.Context, s js.Stream, prefix string, after uint64,
	follow bool) iter.Seq2[queue.Stored, error] {
	return func(yield func(queue.Stored, error) bool) {
		err := e.operations.guard(ctx, func(ctx context.Context) error {
			return each(ctx, s, prefix, after, follow, func(m queue.Stored) bool { return yield(m, nil) })
		}, s.CachedInfo().Config.Name)
		if err != nil {
			yield(queue.Stored{}, explain(&e.opts, err))
		}
	}
}

// each calls yield with the messages of a stream after a sequence number, until it returns false.
func each(ctx context.Context, s js.Stream, prefix string, after uint64, follow bool,
	yield func(queue.Stored) bool) error {
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	last := info.State.LastSeq
	if !follow && (info.State.Msgs == 0 || after >= last) {
		return nil
	}
	c, err := s.OrderedConsumer(ctx,
		js.OrderedConsumerConfig{DeliverPolicy: js.DeliverByStartSequencePolicy, OptStartSeq: after + 1})
	if err != nil {
		return err
	}
	var opts []js.PullMessagesOpt
	if !follow {
		opts = append(opts, js.PullHeartbeat(heartbeat))
	}
	messages, err := c.Messages(opts...)
	if err != nil {
		return err
	}
	defer messages.Stop()
	delivered := uint64(0) // last consumer sequence number
	for {
		msg, err := next(ctx, messages, follow)
		switch {
		case ctx.Err() != nil && follow:
			if why := context.Cause(ctx); errors.Is(why, nats.ErrPermissionViolation) {
				return why
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !follow && errors.Is(err, context.DeadlineExceeded):
			if isDrained(ctx, c, delivered) {
				return nil // the remaining messages were removed
			}
			continue
		case errors.Is(err, js.ErrNoHeartbeat):
			continue // the consumer is recreated
		case err != nil:
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		delivered = meta.Sequence.Consumer
		id := strings.TrimPrefix(msg.Subject(), prefix)
		more := yield(queue.Stored{Sequence: meta.Sequence.Stream, ID: id, Data: msg.Data(),
			Time: meta.Timestamp})
		if !more || !follow && (meta.NumPending == 0 || meta.Sequence.Stream >= last) {
			return nil
		}
	}
}

// idleTime is the time without messages after which a list checks whether more exist. A consumer
// without heartbeats is recreated before that.
const (
	heartbeat = time.Second
	idleTime  = 3 * heartbeat
)

func next(ctx context.Context, messages js.MessagesContext, follow bool) (js.Msg, error) {
	if !follow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, idleTime)
		defer cancel()
	}
	return messages.Next(js.NextContext(ctx))
}

func isDrained(ctx context.Context, c js.Consumer, delivered uint64) bool {
	info, err := c.Info(ctx)
	return err == nil && info.NumPending == 0 &&
		(info.Delivered.Consumer == 0 || info.Delivered.Consumer == delivered)
}

// DropJob implements queue.Admin.
func (e *Engine) DropJob(ctx context.Context, p queue.Priority, sequence uint64) error {
	s, err := e.js.Stream(ctx, e.consumers[p].CachedInfo().Stream)
	if err != nil {
		return explain(&e.opts, err)
	}
	submitted := sequence // of a moved job, that of its submission
	msg, err := e.message(ctx, s, sequence)
	if err != nil && !errors.Is(err, js.ErrMsgNotFound) {
		return explain(&e.opts, err)
	}
	if err == nil {
		if _, first, ok := parseMoved(msg.Header); ok {
			submitted = first
		}
	}
	// The record is first: a job without it could not be submitted again.
	key := e.droppedKey(p, submitted)
	_, err = e.records.Create(ctx, key, nil)
	if err != nil && !errors.Is(err, queue.ErrExists) {
		return explain(&e.opts, err)
	}
	created := err == nil
	if err = e.drop(ctx, s, sequence); errors.Is(err, queue.ErrNotFound) && created { // it was finished
		e.records.Delete(ctx, key, 0)
	}
	return err
}

// DropDead implements queue.Admin.
func (e *Engine) DropDead(ctx context.Context, sequence uint64) error {
	return e.drop(ctx, e.dead, sequence)
}

func (e *Engine) drop(ctx context.Context, s js.Stream, sequence uint64) error {
	err := e.operations.guard(ctx, func(ctx context.Context) error { return s.DeleteMsg(ctx, sequence) },
		s.CachedInfo().Config.Name)
	if errors.Is(err, js.ErrMsgNotFound) || errors.Is(err, js.ErrMsgDeleteUnsuccessful) {
		return queue.ErrNotFound
	}
	return explain(&e.opts, err)
}

// PurgeJobs implements queue.Admin.
func (e *Engine) PurgeJobs(ctx context.Context) (n uint64, err error) {
	for _, p := range queue.Priorities {
		s, err := e.js.Stream(ctx, e.consumers[p].CachedInfo().Stream)
		if err != nil {
			return n, explain(&e.opts, err)
		}
		purged, last, err := e.purge(ctx, s)
		n += purged
		if err == nil && last > 0 {
			err = e.records.Put(ctx, e.purgedKey(p), strconv.AppendUint(nil, last, 10))
		}
		if err != nil {
			return n, explain(&e.opts, err)
		}
	}
	return n, nil
}

// PurgeResults implements queue.Admin.
func (e *Engine) PurgeResults(ctx context.Context) (uint64, error) {
	n, _, err := e.purge(ctx, e.results)
	return n, err
}

// RemoveResults implements queue.Admin.
func (e *Engine) RemoveResults(ctx context.Context, last uint64) error {
	return explain(&e.opts, e.purgeUpTo(ctx, e.results, last))
}

// PurgeDead implements queue.Admin.
func (e *Engine) PurgeDead(ctx context.Context) (uint64, error) {
	n, _, err := e.purge(ctx, e.dead)
	return n, err
}

// purge removes the messages of a stream. It returns their number and the last sequence number.
func (e *Engine) purge(ctx context.Context, s js.Stream) (n, last uint64, err error) {
	info, err := s.Info(ctx)
	if err == nil {
		n, last = info.State.Msgs, info.State.LastSeq
		err = e.purgeUpTo(ctx, s, last)
	}
	return n, last, explain(&e.opts, err)
}

// purgeTime limits the time to remove messages. The server needs some microseconds for each.
const purgeTime = 5 * time.Minute

func (e *Engine) purgeUpTo(ctx context.Context, s js.Stream, last uint64) error {
	ctx, cancel := context.WithTimeout(ctx, purgeTime)
	defer cancel()
	return e.operations.guard(ctx,
		func(ctx context.Context) error { return s.Purge(ctx, js.WithPurgeSequence(last+1)) },
		s.CachedInfo().Config.Name)
}

// purgedKey returns the key with the sequence number up to which the jobs of a priority were
// purged. The server still detects duplicates of purged jobs.
func (e *Engine) purgedKey(p queue.Priority) string {
	return path.Join("purged", e.opts.Crawl, "jobs-"+string(p))
}

// droppedKey returns the key of the record of a dropped job. The server still detects its
// duplicates.
func (e *Engine) droppedKey(p queue.Priority, sequence uint64) string {
	return path.Join("dropped", e.opts.Crawl, "jobs-"+string(p), strconv.FormatUint(sequence, 10))
}

// removed reports whether the job with a sequence number was purged or dropped. If it was purged,
// last is the sequence number up to which jobs were.
func (e *Engine) removed(ctx context.Context, p queue.Priority, sequence uint64) (last uint64,
	removed bool, err error) {
	value, _, err := e.records.Get(ctx, e.purgedKey(p))
	if err != nil && !errors.Is(err, queue.ErrNotFound) {
		return 0, false, err
	}
	last, _ = strconv.ParseUint(string(value), 10, 64) // 0 if the value is not a number
	if sequence <= last {
		return last, true, nil
	}
	switch _, _, err = e.records.Get(ctx, e.droppedKey(p, sequence)); {
	case errors.Is(err, queue.ErrNotFound):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	}
	return sequence, true, nil
}
