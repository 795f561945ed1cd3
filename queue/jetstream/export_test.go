package jetstream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/queue"
)

// Messages returns the number of messages in a stream.
func (e *Engine) Messages(ctx context.Context, stream string) int {
	s, err := e.js.Stream(ctx, stream)
	if err != nil {
		return -1
	}
	return int(s.CachedInfo().State.Msgs)
}

// SetupWithin sets the time limit for creating the queue.
func SetupWithin(o *Options, d time.Duration) { o.setup = d }

// StallAfter sets the time after which waiting jobs count as stalled.
func StallAfter(o *Options, d time.Duration) { o.fetchWait, o.stallAfter = d, d }

// WaitLong sets how long a response is waited for, and how long prefetched jobs are kept.
func WaitLong(o *Options, d time.Duration) { o.requestTimeout, o.prefetchedFor = d, d }

// Pause makes the server deliver no jobs of normal priority until a time.
func (e *Engine) Pause(ctx context.Context, until time.Time) error {
	c := e.consumers["normal"].CachedInfo()
	_, err := e.js.PauseConsumer(ctx, c.Stream, c.Name, until)
	return err
}

// LimitTaken makes the server deliver at most n unfinished jobs of normal priority.
func (e *Engine) LimitTaken(ctx context.Context, n int) error {
	c := e.consumers["normal"].CachedInfo()
	cfg := c.Config
	cfg.MaxAckPending = n
	_, err := e.js.UpdateConsumer(ctx, c.Stream, cfg)
	return err
}

// ParseMoved parses the header of a moved job.
func ParseMoved(text string) (moves int, first uint64, ok bool) {
	return parseMoved(nats.Header{movedHeader: {text}})
}

// MovedHeader returns the header of a delivered job.
func MovedHeader(d queue.Delivery) string { return d.(*delivery).msg.Headers().Get("Urlget-Moved") }

// Prefetched returns the number of prefetched jobs, and whether the stream counts as empty.
func (e *Engine) Prefetched(p queue.Priority) (jobs int, empty bool) {
	e.puller.mu.Lock()
	defer e.puller.mu.Unlock()
	return len(e.puller.prefetched[p]), e.puller.empty[p]
}

// Forge puts an object of one chunk with any digest into the object store of the queue.
func (e *Engine) Forge(ctx context.Context, name, text string, digest []byte) error {
	bucket := e.opts.Name
	info := js.ObjectInfo{Bucket: bucket, NUID: "forged", Size: uint64(len(text)), Digest: "SHA-256=" + base64.URLEncoding.EncodeToString(digest)}
	info.Name = name
	if text != "" {
		info.Chunks = 1
		if _, err := e.js.Publish(ctx, "$O."+bucket+".C.forged", []byte(text)); err != nil {
			return err
		}
	}
	data, err := json.Marshal(info)
	if err != nil {
		return err
	}
	msg := nats.NewMsg("$O." + bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name)))
	msg.Header.Set("Nats-Rollup", "sub")
	msg.Data = data
	_, err = e.js.PublishMsg(ctx, msg)
	return err
}

// InboxPrefix returns the prefix of the subjects for responses to a client with a URL and an NKey.
func InboxPrefix(url, nkey string) string { return (&Options{URL: url}).inboxPrefix(nkey) }

// Received returns the number of messages from the server.
func (e *Engine) Received() int { return int(e.conn.Stats().InMsgs) }
