// Package jetstream implements queue engines on NATS JetStream. Each priority has a stream of jobs.
// Results and dead letters have their own streams. Leases and records are streams that keep the
// last message of each subject. All streams can be replicated.
//
// It requires NATS server 2.9 or later. Package embedded runs a server in the process.
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
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/queue"
)

// Options configure the connection and, if Open creates the queue, its settings. Zero fields mean
// the defaults.
type Options struct {
	// URL is the URL of the server, or of several separated by commas; default
	// nats://127.0.0.1:4222. It may contain a user and a password, or a token. They are sent only
	// over TLS (scheme tls or wss, or TLS) or to a loopback address.
	URL string
	// Credentials is the name of a file with a JWT and a key. NKey is the name of a file with the
	// seed of an NKey.
	Credentials, NKey string
	TLS               *tls.Config // nil means the defaults if the scheme is tls
	// InProcess, if not nil, connects to a server in this process, or to one that URL does not find.
	InProcess interface{ InProcessConn() (net.Conn, error) }

	// Name is the name of the queue on its servers. It consists of letters, digits, "-" and "_";
	// default "urlget".
	Name string
	// Crawl, if not empty, is the name of a crawl with its own queue; it has the same syntax. The
	// crawl shares leases and host records with the queue Name.
	Crawl string
	// Existing makes Open fail with class fetch.ErrNotFound if the queue or crawl does not exist,
	// instead of creating it.
	Existing bool
	// Replicas is the number of replicas of all streams: 1, 3 or 5. If it is 0, a queue is created
	// with 1. If a queue has another number, Open fails with class fetch.ErrRequest.
	Replicas int
	// Window is how long duplicates of a submitted job are detected; default 1 hour.
	Window time.Duration
	// MaxJobs limits the number of jobs of each priority, and MaxBytes the size of their streams in
	// bytes. 0 means no limit.
	MaxJobs, MaxBytes int64
	// Keep is how long results are kept; default 30 days.
	Keep time.Duration
	// AckWait is the time after which jobs of a worker that does not report are redelivered;
	// default 60 s. LeaseTTL is the lifetime of leases that are not renewed; default 15 s. Both are
	// fixed when the queue is created.
	AckWait, LeaseTTL time.Duration

	// Wait makes Open wait until its context ends while the servers are reachable but do not
	// respond because they have not elected a leader.
	Wait bool

	Logger *slog.Logger // nil discards

	setup  time.Duration // limits the time to create the queue
	denied func(error)   // called when the server denies an operation
	lost   func()        // called when the connection ends
	// requestTimeout, fetchWait, stallAfter and prefetchedFor replace the constants in tests.
	requestTimeout, fetchWait, stallAfter, prefetchedFor time.Duration
}

const minVersion = "2.9.0"

// clusterVersion is the oldest server version without known data loss in clusters. Replicas of
// 2.9.10 were seen to lack results that the others had.
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
	pages     *values // nil if the queue is not a crawl queue, as is secrets
	secrets   *values
	state     *values // the pages of a crawl queue
	limits    queue.Limits

	stateCache stateCache
	operations operations

	pulling sync.Once
	puller  puller
	ctx     context.Context // context of the puller
	stop    context.CancelFunc
}

const nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// maxName limits the length of a name, which becomes part of file names.
const maxName = 60

const (
	// setup limits the time to create the queue.
	setup = 15 * time.Second
	// requestTimeout limits requests whose context has no deadline.
	requestTimeout = 5 * time.Second
	// leaderPollInterval is the interval between requests to servers without a leader.
	leaderPollInterval = time.Second
)

// ErrNoLeader is returned by Open while the servers are reachable but do not respond. They may
// elect a leader within seconds, or when more of them are available.
var ErrNoLeader = errors.New("jetstream: the NATS servers do not respond; they may have no leader yet")

// Open connects to the servers and creates the queue if needed. Errors are *fetch.Errors.
func Open(ctx context.Context, opts Options) (*Engine, error) {
	opts.URL = cmp.Or(opts.URL, "nats://127.0.0.1:4222")
	opts.Name = cmp.Or(opts.Name, "urlget")
	opts.fetchWait, opts.stallAfter = cmp.Or(opts.fetchWait, fetchWait), cmp.Or(opts.stallAfter, stallAfter)
	opts.requestTimeout = cmp.Or(opts.requestTimeout, requestTimeout)
	opts.prefetchedFor = cmp.Or(opts.prefetchedFor, prefetchedFor)
	opts.Window, opts.Keep = cmp.Or(opts.Window, time.Hour), cmp.Or(opts.Keep, 30*24*time.Hour)
	opts.AckWait, opts.LeaseTTL = cmp.Or(opts.AckWait, time.Minute), cmp.Or(opts.LeaseTTL, 15*time.Second)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	for _, name := range []string{opts.Name, opts.Crawl} {
		if strings.Trim(name, nameCharacters) != "" || len(name) > maxName {
			return nil, &fetch.Error{Code: fetch.ErrRequest,
				Err: fmt.Errorf("%q is not a valid queue name: use at most %d letters, digits, - and _", name,
					maxName)}
		}
	}
	if err := opts.checkLogins(); err != nil {
		return nil, err
	}
	opts.setup = cmp.Or(opts.setup, setup)
	begun := time.Now()
	for told := false; ; {
		e, err := open(ctx, opts)
		if errors.Is(err, errLost) && ctx.Err() == nil && time.Since(begun) < opts.setup {
			continue // at the next server, or the one that follows it
		}
		if !opts.Wait || !errors.Is(err, ErrNoLeader) {
			return e, err
		}
		if !told {
			opts.Logger.Warn("waiting for the NATS servers", "servers", opts.servers(), "error", err)
			told = true
		}
		if retry.Sleep(ctx, leaderPollInterval) != nil {
			return nil, fetch.ContextError(ctx)
		}
	}
}

// open makes one attempt to open the queue.
func open(parent context.Context, opts Options) (*Engine, error) {
	ctx, fail := context.WithCancelCause(parent)
	defer fail(nil)
	e := &Engine{consumers: map[queue.Priority]js.Consumer{}}
	opts.denied = func(err error) {
		fail(err) // until the queue is open, every operation is needed
		e.operations.deny(err)
	}
	opts.lost = func() {
		fail(errLost)
		e.operations.lose()
	}
	conn, err := connect(ctx, &opts)
	if err != nil {
		return nil, err
	}
	e.opts, e.conn = opts, conn
	e.ctx, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, opts.setup)
	defer cancel()
	if err := e.prepare(ctx); err != nil {
		if parent.Err() == nil && conn.IsConnected() &&
			(errors.Is(err, context.DeadlineExceeded) || hasCode(err, codeNotAvailable)) {
			err = fmt.Errorf("%w: %w", ErrNoLeader, err)
		}
		e.Close()
		if why := context.Cause(ctx); isReported(why) {
			err = why
		}
		return nil, explain(&opts, err)
	}
	return e, nil
}

func (e *Engine) prepare(ctx context.Context) error {
	switch v := e.conn.ConnectedServerVersion(); {
	case isOlder(v, minVersion):
		return &fetch.Error{Code: fetch.ErrServer,
			Err: fmt.Errorf("the NATS server has version %s; version %s or later is required", v, minVersion)}
	case e.opts.Replicas > 1 && isOlder(v, clusterVersion):
		e.opts.Logger.Warn("clusters of this NATS version may lose results if servers fail; use a newer "+
			"version", "version", v)
	}
	var err error
	if e.js, err = js.New(e.conn, js.WithDefaultTimeout(e.opts.requestTimeout),
		js.WithPublishAsyncTimeout(e.opts.requestTimeout)); err != nil {
		return err
	}
	if e.opts.Existing {
		if err := e.exists(ctx); err != nil {
			return err
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
	if err := e.checkReplicas(); err != nil {
		return err
	}
	if e.dead, err = e.makeLog(ctx, "dead", 0); err != nil {
		return err
	}
	if e.leases, err = e.makeValues(ctx, e.opts.Name+"-leases", e.subject("leases", ""),
		e.opts.LeaseTTL); err != nil {
		return err
	}
	if e.records, err = e.makeValues(ctx, e.opts.Name+"-records", e.subject("records", ""),
		7*24*time.Hour); err != nil {
		return err
	}
	if e.opts.Crawl != "" {
		if e.pages, err = e.makeValues(ctx, e.streamName("pages"), e.crawlSubject("pages", ""),
			0); err != nil {
			return err
		}
		e.state = e.pages
		if e.secrets, err = e.makeValues(ctx, e.streamName("secrets"), e.crawlSubject("secrets", ""),
			0); err != nil {
			return err
		}
	} else if e.state, err = e.makeValues(ctx, e.opts.Name+"-state", e.subject("state", ""), 0); err != nil {
		return err
	}
	info := e.consumers[queue.Normal].CachedInfo()
	e.limits = queue.Limits{AckWait: info.Config.AckWait, LeaseTTL: e.leases.ttl,
		Message: int(e.conn.MaxPayload())}
	return nil
}

// ownStreams returns the names of the streams of the crawl, or of the queue without its crawls. That of
// pages is the last, because it marks the crawl as existing.
func (e *Engine) ownStreams() []string {
	var names []string
	for _, p := range queue.Priorities {
		names = append(names, e.streamName("jobs-"+string(p)))
	}
	names = append(names, e.streamName("results"), e.streamName("dead"))
	if e.opts.Crawl == "" {
		return append(names, e.opts.Name+"-state")
	}
	return append(names, e.streamName("secrets"), e.streamName("pages"))
}

// stream returns a stream and creates it if needed. An existing stream is not changed.
func (e *Engine) stream(ctx context.Context, cfg js.StreamConfig) (js.Stream, error) {
	s, err := e.js.Stream(ctx, cfg.Name)
	if !errors.Is(err, js.ErrStreamNotFound) {
		return s, err
	}
	cfg.Storage = js.FileStorage
	if cfg.Replicas, err = e.replicas(ctx); err != nil {
		return nil, err
	}
	s, err = e.js.CreateStream(ctx, cfg)
	if errors.Is(err, js.ErrStreamNameAlreadyInUse) { // another client created it at the same time
		return e.js.Stream(ctx, cfg.Name)
	}
	return s, err
}

func (e *Engine) subject(parts ...string) string {
	return e.opts.Name + "." + strings.Join(parts, ".")
}

func (e *Engine) crawlSubject(parts ...string) string {
	if e.opts.Crawl == "" {
		return e.subject(parts...)
	}
	return e.subject(append([]string{"crawl", e.opts.Crawl}, parts...)...)
}

func (e *Engine) streamName(what string) string {
	if e.opts.Crawl == "" {
		return e.opts.Name + "-" + what
	}
	return e.opts.Name + crawlMark + e.opts.Crawl + "-" + what
}

// crawlMark separates the names of the queue and the crawl. Neither contains it.
const crawlMark = "@"

func (e *Engine) makeJobs(ctx context.Context, name string, p queue.Priority) error {
	s, err := e.stream(ctx, js.StreamConfig{
		Name: name, Subjects: []string{e.crawlSubject("jobs",
			string(p))}, Retention: js.WorkQueuePolicy, Discard: js.DiscardNew,
		Duplicates: e.opts.Window, MaxMsgs: orUnlimited(e.opts.MaxJobs),
		MaxBytes: orUnlimited(e.opts.MaxBytes),
	})
	if err != nil {
		return err
	}
	c, err := s.Consumer(ctx, "workers")
	if errors.Is(err, js.ErrConsumerNotFound) {
		c, err = s.CreateOrUpdateConsumer(ctx, js.ConsumerConfig{
			Durable: "workers", AckPolicy: js.AckExplicitPolicy, AckWait: e.opts.AckWait, MaxDeliver: -1,
			MaxAckPending: maxTaken,
			MaxWaiting:    4096,
		})
	}
	e.consumers[p] = c
	return err
}

// maxTaken limits the jobs of a priority that workers have taken, or that wait for a retry.
const maxTaken = 20_000

func orUnlimited(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

// makeLog creates a stream with one message for each submission. Publishers require that the
// subject is empty. The stream option for that (DiscardNewPerSubject) is not used: with server 2.9,
// a lagging replica then refuses messages it must catch up with, and the stream may lose them.
func (e *Engine) makeLog(ctx context.Context, what string, keep time.Duration) (js.Stream, error) {
	s, err := e.stream(ctx, js.StreamConfig{
		Name: e.streamName(what), Subjects: []string{e.crawlSubject(what,
			"*")}, MaxAge: keep, MaxMsgsPerSubject: 1,
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
func (e *Engine) Submit(ctx context.Context, p queue.Priority, key string,
	data []byte) (duplicate bool, err error) {
	subject := e.crawlSubject("jobs", string(p))
	ack, err := e.publish(ctx, subject, data, js.WithMsgID(key))
	for err == nil && ack.Duplicate { // of a removed job, perhaps
		last, removed, problem := e.removed(ctx, p, ack.Sequence)
		if err = problem; err != nil || !removed {
			break
		}
		ack, err = e.publish(ctx, subject, data, js.WithMsgID(fmt.Sprint(key, "/", last)))
	}
	if isFull(err) {
		return false, &fetch.Error{Code: fetch.ErrServer, Retry: true,
			Err: fmt.Errorf("%w: %w", queue.ErrFull, err)}
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
	_, err := e.publish(ctx, e.crawlSubject(what, id), data, js.WithMsgID(id),
		js.WithExpectLastSequencePerSubject(0))
	if isWrongRevision(err) {
		return nil // it already exists
	}
	return e.explainDenied(err)
}

func (e *Engine) publish(ctx context.Context, subject string, data []byte,
	opts ...js.PublishOpt) (ack *js.PubAck, err error) {
	err = e.operations.guard(ctx, func(ctx context.Context) error {
		ack, err = e.js.Publish(ctx, subject, data, opts...)
		return err
	}, subject)
	return ack, err
}

// explainDenied converts the error of a denied operation. Workers examine all other errors.
func (e *Engine) explainDenied(err error) error {
	if errors.Is(err, nats.ErrPermissionViolation) {
		return explain(&e.opts, err)
	}
	return err
}

// Result implements queue.Engine.
func (e *Engine) Result(ctx context.Context, id string) (data []byte, err error) {
	subject := e.crawlSubject("results", id)
	err = e.operations.guard(ctx, func(ctx context.Context) error {
		msg, err := e.results.GetLastMsgForSubject(ctx, subject)
		if err == nil {
			data = msg.Data
		}
		return err
	}, subject, e.streamName("results"))
	if errors.Is(err, js.ErrMsgNotFound) {
		return nil, queue.ErrNotFound
	}
	return data, e.explainDenied(err)
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

// Secrets implements queue.Engine.
func (e *Engine) Secrets() queue.Values {
	if e.secrets == nil {
		return nil
	}
	return e.secrets
}

// Forget deletes the crawl with all its data. It must not be in use.
func (e *Engine) Forget(ctx context.Context) error {
	if e.opts.Crawl == "" {
		return errors.New("only crawls can be deleted")
	}
	if v, err := e.settings(ctx); err != nil {
		return explain(&e.opts, err)
	} else if v != nil {
		if err := v.Delete(ctx, e.segmentsKey(), 0); err != nil && !errors.Is(err, queue.ErrConflict) {
			return explain(&e.opts, err)
		}
	}
	for _, stream := range e.ownStreams() {
		err := e.operations.guard(ctx, func(ctx context.Context) error {
			return e.js.DeleteStream(ctx, stream)
		}, stream)
		if err != nil && !errors.Is(err, js.ErrStreamNotFound) {
			return explain(&e.opts, err)
		}
	}
	return nil
}

// Crawls returns the names of all crawls.
func (e *Engine) Crawls(ctx context.Context) ([]string, error) {
	var names []string
	err := e.operations.guard(ctx, func(ctx context.Context) error {
		list := e.js.StreamNames(ctx)
		for name := range list.Name() {
			if text, ok := strings.CutPrefix(name, e.opts.Name+crawlMark); ok {
				if text, ok = strings.CutSuffix(text, "-pages"); ok {
					names = append(names, text)
				}
			}
		}
		return list.Err()
	}, "STREAM.NAMES")
	slices.Sort(names)
	if err != nil {
		return nil, explain(&e.opts, err)
	}
	return names, nil
}

// Ready returns an error if the engine is not connected, or if jobs wait and the server delivers none.
func (e *Engine) Ready() error {
	if !e.conn.IsConnected() {
		return fmt.Errorf("no connection to NATS: %s", strings.ToLower(e.conn.Status().String()))
	}
	return e.stallError()
}

// Close returns prefetched jobs to the queue and closes the connection.
func (e *Engine) Close() error {
	e.stop()
	e.puller.close()
	if e.conn.IsConnected() {
		e.conn.FlushTimeout(2 * time.Second)
	}
	e.conn.Close()
	return nil
}
