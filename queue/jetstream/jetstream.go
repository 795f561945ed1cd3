// Package jetstream is an engine of queues on NATS JetStream. Jobs wait in streams, one for each
// priority; results and dead letters have streams of their own; leases and what is remembered of
// jobs are messages that replace each other. All of it may have replicas on several servers.
//
// It needs version 2.9 of the server, or a later one. The package embedded has a server for a
// program that brings its own.
package jetstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue"
)

// Options say how to reach the servers, and how a queue is made that is not there yet. Zero fields
// mean the defaults.
type Options struct {
	// URL is that of the server, or of several with commas between them; nats://127.0.0.1:4222. It
	// may hold a user and a password, or a token, which are sent over TLS only (scheme tls or wss, or
	// TLS) or to a loopback address.
	URL string
	// Credentials is the name of a file with a JWT and a key, NKey that of one with the seed of a key.
	Credentials, NKey string
	TLS               *tls.Config // nil means the defaults, if the URL has the scheme tls
	// InProcess, if not nil, is a server in this process.
	InProcess interface{ InProcessConn() (net.Conn, error) }

	// Name tells queues on the same servers apart: letters, digits, "-" and "_"; "urlget".
	Name string
	// Crawl, if not "", is the name of a crawl, of the same letters: it has a queue of its own, but
	// shares leases and what is remembered of hosts with the queue of this Name.
	Crawl string
	// Existing makes it an error of class fetch.ErrNotFound if the crawl is not there: it is not
	// made.
	Existing bool
	Replicas int // of everything: 1, 3 or 5; 1
	// Window is for how long a job that was submitted is not taken a second time; 1 hour.
	Window time.Duration
	// MaxJobs bounds the jobs of each priority, and MaxBytes the size of their streams. 0 means
	// no bound.
	MaxJobs, MaxBytes int64
	// Keep is for how long results are kept; 30 days.
	Keep time.Duration
	// AckWait is after what time without a sign of life a worker's jobs are given to others, and
	// LeaseTTL for how long the places at hosts are lost that it had; 60 s and 15 s. They are those
	// of whoever makes the queue.
	AckWait, LeaseTTL time.Duration

	// Wait makes Open wait, for as long as its context lasts, while the servers can be reached but do
	// not answer, as they have not agreed on who leads.
	Wait bool

	Logger *slog.Logger // nil discards

	setup  time.Duration // bounds how long it may take to make the queue
	denied func(error)   // is told that the server does not allow something
}

// MinVersion is the oldest version of the server that will do.
const MinVersion = "2.9.0"

// clusterVersion is the oldest version that nothing is known against where servers of a cluster fail:
// replicas of 2.9.10 were seen to lack results that the others had.
const clusterVersion = "2.10.0"

// An Engine implements queue.Admin.
type Engine struct {
	opts      Options
	conn      *nats.Conn
	js        js.JetStream
	consumers map[queue.Priority]js.Consumer
	results   js.Stream
	dead      js.Stream
	leases    *values
	records   *values
	pages     *values // nil if the queue is not that of a crawl
	limits    queue.Limits

	pulling sync.Once
	puller  puller
	ctx     context.Context // of the puller
	stop    context.CancelFunc
}

// maxName is how long a name may be: it becomes part of names of files.
const maxName = 60

const (
	// setup bounds how long it may take to make the queue.
	setup = 15 * time.Second
	// askAgain is when servers without a leader are asked again.
	askAgain = time.Second
)

// ErrNoLeader is the error of Open while the servers can be reached but do not answer. They may have
// agreed on who leads within seconds, or when more of them are there.
var ErrNoLeader = errors.New("jetstream: the NATS servers do not respond; they may have no leader yet")

// Open connects to the servers, and makes the queue if it is not there. Its errors are
// *fetch.Errors.
func Open(ctx context.Context, opts Options) (*Engine, error) {
	opts.URL = cmp.Or(opts.URL, "nats://127.0.0.1:4222")
	opts.Name = cmp.Or(opts.Name, "urlget")
	opts.Replicas = cmp.Or(opts.Replicas, 1)
	opts.Window, opts.Keep = cmp.Or(opts.Window, time.Hour), cmp.Or(opts.Keep, 30*24*time.Hour)
	opts.AckWait, opts.LeaseTTL = cmp.Or(opts.AckWait, time.Minute), cmp.Or(opts.LeaseTTL, 15*time.Second)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	for _, name := range []string{opts.Name, opts.Crawl} {
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" || len(name) > maxName {
			return nil, &fetch.Error{Code: fetch.ErrRequest, Err: fmt.Errorf("%q is no name of a queue: want letters, digits, - and _, %d at most", name, maxName)}
		}
	}
	if err := opts.checkLogins(); err != nil {
		return nil, err
	}
	opts.setup = cmp.Or(opts.setup, setup)
	for told := false; ; {
		e, err := open(ctx, opts)
		if !opts.Wait || !errors.Is(err, ErrNoLeader) {
			return e, err
		}
		if !told {
			opts.Logger.Warn("waiting", "for", opts.servers(), "error", err)
			told = true
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return nil, fetch.ContextError(ctx)
		}
	}
}

// open is one attempt of Open.
func open(parent context.Context, opts Options) (*Engine, error) {
	ctx, denied := context.WithCancelCause(parent)
	defer denied(nil)
	opts.denied = denied // what is not allowed is not answered either
	conn, err := connect(ctx, &opts)
	if err != nil {
		return nil, err
	}
	e := &Engine{opts: opts, conn: conn, consumers: map[queue.Priority]js.Consumer{}}
	e.ctx, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, opts.setup)
	defer cancel()
	if err := e.prepare(ctx); err != nil {
		if parent.Err() == nil && conn.IsConnected() && (errors.Is(err, context.DeadlineExceeded) || isUnavailable(err)) {
			err = fmt.Errorf("%w: %w", ErrNoLeader, err)
		}
		e.Close()
		if why := context.Cause(ctx); errors.Is(why, nats.ErrPermissionViolation) {
			err = why
		}
		return nil, explain(&opts, err)
	}
	return e, nil
}

// prepare makes what is not there.
func (e *Engine) prepare(ctx context.Context) error {
	switch v := e.conn.ConnectedServerVersion(); {
	case older(v, MinVersion):
		return &fetch.Error{Code: fetch.ErrServer, Err: fmt.Errorf("the NATS server has version %s, and %s is needed", v, MinVersion)}
	case e.opts.Replicas > 1 && older(v, clusterVersion):
		e.opts.Logger.Warn("clusters of this version of NATS may lose results when servers of them fail: a newer one is needed for that", "version", v)
	}
	var err error
	if e.js, err = js.New(e.conn, js.WithDefaultTimeout(5*time.Second)); err != nil {
		return err
	}
	if e.opts.Crawl != "" && e.opts.Existing {
		if _, err := e.js.Stream(ctx, e.streamName("pages")); errors.Is(err, js.ErrStreamNotFound) {
			return &fetch.Error{Code: fetch.ErrNotFound, Err: fmt.Errorf("%w: %s", queue.ErrNoCrawl, e.opts.Crawl)}
		}
	}
	for _, p := range queue.Priorities {
		name := e.streamName("jobs-" + string(p))
		if err := e.makeJobs(ctx, name, p); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if e.results, err = e.makeLog(ctx, "results", e.opts.Keep); err != nil {
		return err
	}
	if e.dead, err = e.makeLog(ctx, "dead", 0); err != nil {
		return err
	}
	if e.leases, err = e.makeValues(ctx, e.opts.Name+"-leases", e.subject("leases", ""), e.opts.LeaseTTL); err != nil {
		return err
	}
	if e.records, err = e.makeValues(ctx, e.opts.Name+"-records", e.subject("records", ""), 7*24*time.Hour); err != nil {
		return err
	}
	if e.opts.Crawl != "" {
		if e.pages, err = e.makeValues(ctx, e.streamName("pages"), e.crawlSubject("pages", ""), 0); err != nil {
			return err
		}
	}
	info := e.consumers[queue.Normal].CachedInfo()
	e.limits = queue.Limits{AckWait: info.Config.AckWait, LeaseTTL: e.leases.ttl, Message: int(e.conn.MaxPayload())}
	return nil
}

// stream returns a stream, and makes it if it is not there. One that is there stays as it is.
func (e *Engine) stream(ctx context.Context, cfg js.StreamConfig) (js.Stream, error) {
	s, err := e.js.Stream(ctx, cfg.Name)
	if !errors.Is(err, js.ErrStreamNotFound) {
		return s, err
	}
	cfg.Storage, cfg.Replicas = js.FileStorage, e.opts.Replicas
	s, err = e.js.CreateStream(ctx, cfg)
	if errors.Is(err, js.ErrStreamNameAlreadyInUse) { // another one made it at the same time
		return e.js.Stream(ctx, cfg.Name)
	}
	return s, err
}

func (e *Engine) subject(parts ...string) string {
	return e.opts.Name + "." + strings.Join(parts, ".")
}

// crawlSubject is subject for what a crawl has of its own.
func (e *Engine) crawlSubject(parts ...string) string {
	if e.opts.Crawl == "" {
		return e.subject(parts...)
	}
	return e.subject(append([]string{"crawl", e.opts.Crawl}, parts...)...)
}

// streamName is the name of a stream for what a crawl has of its own.
func (e *Engine) streamName(what string) string {
	if e.opts.Crawl == "" {
		return e.opts.Name + "-" + what
	}
	return e.opts.Name + crawlMark + e.opts.Crawl + "-" + what
}

// crawlMark is between the names of the queue and of the crawl; neither has it.
const crawlMark = "@"

func (e *Engine) makeJobs(ctx context.Context, name string, p queue.Priority) error {
	s, err := e.stream(ctx, js.StreamConfig{
		Name: name, Subjects: []string{e.crawlSubject("jobs", string(p))}, Retention: js.WorkQueuePolicy, Discard: js.DiscardNew,
		Duplicates: e.opts.Window, MaxMsgs: orUnlimited(e.opts.MaxJobs), MaxBytes: orUnlimited(e.opts.MaxBytes),
	})
	if err != nil {
		return err
	}
	c, err := s.Consumer(ctx, "workers")
	if errors.Is(err, js.ErrConsumerNotFound) {
		c, err = s.CreateOrUpdateConsumer(ctx, js.ConsumerConfig{
			Durable: "workers", AckPolicy: js.AckExplicitPolicy, AckWait: e.opts.AckWait, MaxDeliver: -1, MaxAckPending: maxTaken,
			MaxWaiting: 4096,
		})
	}
	e.consumers[p] = c
	return err
}

// maxTaken is how many jobs of a priority may be in the hands of workers, or wait to be tried again.
const maxTaken = 20_000

func orUnlimited(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

// makeLog makes a stream that has one message for each submission. Who publishes says that there must
// be none. That the stream itself takes none (DiscardNewPerSubject) is not asked for: a replica of
// server 2.9 that falls behind then refuses what it is to catch up with, and the stream may lose
// what others had.
func (e *Engine) makeLog(ctx context.Context, what string, keep time.Duration) (js.Stream, error) {
	s, err := e.stream(ctx, js.StreamConfig{
		Name: e.streamName(what), Subjects: []string{e.crawlSubject(what, "*")}, MaxAge: keep, MaxMsgsPerSubject: 1,
		Discard: js.DiscardNew, AllowDirect: true,
		Duplicates: min(2*time.Minute, e.opts.Window),
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.streamName(what), err)
	}
	return s, nil
}

// Limits implements queue.Engine.
func (e *Engine) Limits() queue.Limits { return e.limits }

// Submit implements queue.Engine.
func (e *Engine) Submit(ctx context.Context, p queue.Priority, key string, data []byte) (duplicate bool, err error) {
	subject := e.crawlSubject("jobs", string(p))
	ack, err := e.js.Publish(ctx, subject, data, js.WithMsgID(key))
	if err == nil && ack.Duplicate {
		var last uint64
		if last, err = e.purged(ctx, p); err == nil && ack.Sequence <= last { // it was there, and is not
			ack, err = e.js.Publish(ctx, subject, data, js.WithMsgID(fmt.Sprint(key, "/", last)))
		}
	}
	if isFull(err) {
		return false, &fetch.Error{Code: fetch.ErrServer, Retry: true, Err: fmt.Errorf("%w: %w", queue.ErrFull, err)}
	}
	if err != nil {
		return false, explain(&e.opts, err)
	}
	return ack.Duplicate, nil
}

// PutResult implements queue.Engine.
func (e *Engine) PutResult(ctx context.Context, id string, data []byte) error {
	return e.put(ctx, "results", id, data)
}

// PutDead implements queue.Engine.
func (e *Engine) PutDead(ctx context.Context, id string, data []byte) error {
	return e.put(ctx, "dead", id, data)
}

func (e *Engine) put(ctx context.Context, what, id string, data []byte) error {
	_, err := e.js.Publish(ctx, e.crawlSubject(what, id), data, js.WithMsgID(id), js.WithExpectLastSequencePerSubject(0))
	if isWrongRevision(err) {
		return nil // it is there
	}
	return err
}

// HasResult implements queue.Engine.
func (e *Engine) HasResult(ctx context.Context, id string) (bool, error) {
	_, err := e.results.GetLastMsgForSubject(ctx, e.crawlSubject("results", id))
	if errors.Is(err, js.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Leases implements queue.Engine.
func (e *Engine) Leases() queue.Values { return e.leases }

// Records implements queue.Engine.
func (e *Engine) Records() queue.Values { return e.records }

// Pages implements queue.Engine.
func (e *Engine) Pages() queue.Values {
	if e.pages == nil {
		return nil
	}
	return e.pages
}

// Forget removes all that there is of the crawl. Nobody may use it any more.
func (e *Engine) Forget(ctx context.Context) error {
	if e.opts.Crawl == "" {
		return errors.New("only crawls can be forgotten")
	}
	names := []string{"results", "dead", "pages"} // the last one says that it is there
	for _, p := range queue.Priorities {
		names = slices.Insert(names, 0, "jobs-"+string(p))
	}
	for _, name := range names {
		if err := e.js.DeleteStream(ctx, e.streamName(name)); err != nil && !errors.Is(err, js.ErrStreamNotFound) {
			return explain(&e.opts, err)
		}
	}
	return nil
}

// Crawls returns the names of the crawls that there are.
func (e *Engine) Crawls(ctx context.Context) ([]string, error) {
	var names []string
	list := e.js.StreamNames(ctx)
	for name := range list.Name() {
		if text, ok := strings.CutPrefix(name, e.opts.Name+crawlMark); ok {
			if text, ok = strings.CutSuffix(text, "-pages"); ok {
				names = append(names, text)
			}
		}
	}
	slices.Sort(names)
	if err := list.Err(); err != nil {
		return nil, explain(&e.opts, err)
	}
	return names, nil
}

// Ready returns nil if the servers can be reached, and else why not.
func (e *Engine) Ready() error {
	if !e.conn.IsConnected() {
		return fmt.Errorf("no connection to NATS: %s", strings.ToLower(e.conn.Status().String()))
	}
	return nil
}

// Close gives back what was taken and not handed out, and ends the connection.
func (e *Engine) Close() error {
	e.stop()
	e.puller.close()
	if e.conn.IsConnected() {
		e.conn.FlushTimeout(2 * time.Second)
	}
	e.conn.Close()
	return nil
}
