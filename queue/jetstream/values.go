package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/queue"
)

// A values is a stream with one message for each key. Unlike the key-value buckets of NATS, it
// deletes messages. Buckets do not allow that: they keep a delete marker, after which the next
// Create costs three requests.
type values struct {
	engine *Engine
	stream js.Stream
	prefix string // prefix of subjects
	ttl    time.Duration
}

// makeValues returns values whose subjects start with a prefix. A TTL of 0 means no expiry.
func (e *Engine) makeValues(ctx context.Context, name, prefix string, ttl time.Duration) (*values, error) {
	s, err := e.stream(ctx, js.StreamConfig{Name: name, Subjects: []string{prefix + ">"},
		MaxMsgsPerSubject: 1, MaxAge: ttl,
		Duplicates: min(time.Second, cmp.Or(ttl, time.Second))})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &values{e, s, prefix, s.CachedInfo().Config.MaxAge}, nil
}

func (v *values) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	var m *js.RawStreamMsg
	err := v.guard(ctx, func(ctx context.Context) (err error) {
		m, err = v.stream.GetLastMsgForSubject(ctx, v.prefix+key)
		return err
	})
	if errors.Is(err, js.ErrMsgNotFound) {
		return nil, 0, queue.ErrNotFound
	}
	if err != nil {
		return nil, 0, err
	}
	return m.Data, m.Sequence, nil
}

func (v *values) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	revision, err := v.Update(ctx, key, value, 0)
	if errors.Is(err, queue.ErrConflict) {
		err = queue.ErrExists
	}
	return revision, err
}

func (v *values) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	ack, err := v.engine.publish(ctx, v.prefix+key, value, js.WithExpectLastSequencePerSubject(revision))
	if isWrongRevision(err) {
		return 0, queue.ErrConflict
	}
	if err != nil {
		return 0, v.engine.explainDenied(err)
	}
	return ack.Sequence, nil
}

func (v *values) Put(ctx context.Context, key string, value []byte) error {
	_, err := v.engine.publish(ctx, v.prefix+key, value)
	return v.engine.explainDenied(err)
}

func (v *values) Delete(ctx context.Context, key string, revision uint64) error {
	if revision == 0 {
		var err error
		if _, revision, err = v.Get(ctx, key); errors.Is(err, queue.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
	}
	err := v.guard(ctx, func(ctx context.Context) error { return v.stream.DeleteMsg(ctx, revision) })
	if errors.Is(err, js.ErrMsgNotFound) || errors.Is(err, js.ErrMsgDeleteUnsuccessful) {
		return queue.ErrConflict
	}
	return err
}

// guard ends do if the server denies a request about the stream.
func (v *values) guard(ctx context.Context, do func(context.Context) error) error {
	return v.engine.explainDenied(v.engine.operations.guard(ctx, do, v.stream.CachedInfo().Config.Name))
}

func isWrongRevision(err error) bool {
	return hasCode(err, js.JSErrCodeStreamWrongLastSequence, js.JSErrCodeStreamWrongLastSequenceConstant)
}
