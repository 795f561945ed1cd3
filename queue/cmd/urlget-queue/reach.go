package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/jetstream/embedded"
)

type queueFlags struct {
	url, creds, nkey, name string
	ca, cert, key          string
	embedded               string
	crawl                  string
	mustExist              bool // the queue or the crawl must exist
	longRunning            bool // the program is a long-running worker
	replicas               int
	maxJobs                int64
	ackWait                time.Duration
}

func (r *queueFlags) define(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&r.url, "nats", "",
		"connect to the NATS servers at `URL`, separated by commas "+
			"(default $URLGET_NATS, or nats://127.0.0.1:4222)")
	f.StringVar(&r.embedded, "embedded", "", "keep the queue in `DIR` and run an embedded server")
	f.StringVar(&r.name, "name", "urlget", "use the queue `NAME`")
	f.StringVar(&r.crawl, "crawl", "", "use the queue of the crawl `NAME`")
	f.StringVar(&r.creds, "creds", "", "log in with the credentials in `FILE`")
	f.StringVar(&r.nkey, "nkey", "", "log in with the key whose seed is in `FILE`")
	f.StringVar(&r.ca, "nats-ca", "",
		"trust only NATS servers of the certificate authorities in `FILE` (PEM)")
	f.StringVar(&r.cert, "nats-cert", "", "present the client certificate in `FILE` (PEM) to NATS")
	f.StringVar(&r.key, "nats-key", "", "read the private key for --nats-cert from `FILE` (PEM)")
	f.IntVar(&r.replicas, "replicas", 0,
		"keep the queue on `N` servers: 1, 3 or 5 (default 1); it is an error if it exists "+
			"and is kept on another number")
	f.Int64Var(&r.maxJobs, "max-jobs", 0,
		"when creating the queue: limit it to `N` jobs of each priority (0 for no limit)")
	f.DurationVar(&r.ackWait, "ack-wait", time.Minute,
		"when creating the queue: redeliver jobs of a worker that does not report for `TIME`")
}

// minAckWait leaves a worker time to extend its jobs over a slow network.
const minAckWait = 5 * time.Second

// open opens the queue. With --embedded, it uses the server of another process if one is running.
func (r *queueFlags) open(
	ctx context.Context, logger *slog.Logger,
) (e *jetstream.Engine, done func(), err error) {
	// $URLGET_NATS is not the default of the flag, because help prints defaults and the URL may
	// contain a login.
	opts := jetstream.Options{
		URL: cmp.Or(r.url, os.Getenv("URLGET_NATS")), Credentials: r.creds, NKey: r.nkey, Name: r.name,
		Replicas: r.replicas, MaxJobs: r.maxJobs, AckWait: r.ackWait,
		Logger: logger, Crawl: r.crawl, Existing: r.mustExist, Wait: r.longRunning,
	}
	if r.ackWait < minAckWait {
		return nil, nil, usage("--ack-wait must be %v or more", minAckWait)
	}
	if !slices.Contains([]int{0, 1, 3, 5}, r.replicas) {
		return nil, nil, usage("--replicas must be 1, 3 or 5")
	}
	if r.embedded != "" {
		return r.openEmbedded(ctx, opts)
	}
	if opts.TLS, err = r.tls(); err != nil {
		return nil, nil, err
	}
	if e, err = jetstream.Open(ctx, opts); err != nil {
		return nil, nil, err
	}
	return e, func() { e.Close() }, nil
}

const oneServer = "the queue is kept on one server, whose power failure can lose jobs: " +
	"check with \"urlget queue audit\""

func (r *queueFlags) onOneServer(ctx context.Context, e *jetstream.Engine) bool {
	if r.embedded != "" {
		return false
	}
	s, err := e.Status(ctx)
	return err == nil && s.Replicas <= 1
}

func (r *queueFlags) openEmbedded(
	ctx context.Context, opts jetstream.Options,
) (*jetstream.Engine, func(), error) {
	if r.replicas > 1 || r.creds != "" || r.nkey != "" {
		return nil, nil, usage("--embedded cannot be combined with --replicas, --creds and --nkey")
	}
	if _, err := os.Stat(r.embedded); r.mustExist && errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &fetch.Error{Code: fetch.ErrNotFound,
			Err: &jetstream.NoQueueError{Name: r.name}}
	}
	s, url, err := r.server(ctx)
	if err != nil {
		return nil, nil, err
	}
	opts.URL = url
	var stop func()
	open := jetstream.Open
	if s != nil {
		opts.InProcess = s
		stop = func() { s.Close() }
	} else {
		opts.InProcess = embedded.Dir(r.embedded)
		stop = r.takeOver(ctx, url)
		open = openShared
	}
	e, err := open(ctx, opts)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return e, func() {
		e.Close()
		stop()
	}, nil
}

const (
	// sharedTimeout limits the first attempt to use the server of another process. Each next one has
	// twice the time, because the machine may be busy. sharedPatience limits all attempts, and
	// sharedPause is the pause between two of them.
	sharedTimeout  = 5 * time.Second
	sharedPatience = 2 * time.Minute
	sharedPause    = 200 * time.Millisecond
)

// openShared opens a queue on the server of another process.
func openShared(ctx context.Context, opts jetstream.Options) (e *jetstream.Engine, err error) {
	patience := sharedPatience
	if opts.Wait {
		patience = math.MaxInt64
	}
	err = retryShared(ctx, patience, func(ctx context.Context) error {
		e, err = jetstream.Open(ctx, opts)
		return err
	})
	return e, err
}

// retryShared calls do until it reaches the server of another process. That may end at any time; another
// server follows.
func retryShared(ctx context.Context, patience time.Duration, do func(context.Context) error) error {
	begun := time.Now()
	for timeout := sharedTimeout; ; timeout = min(2*timeout, sharedPatience) {
		short, cancel := context.WithTimeout(ctx, timeout)
		err := do(short)
		cancel()
		ended := fetch.CodeOf(err) == fetch.ErrNetwork || errors.Is(err, jetstream.ErrNoLeader)
		if err == nil || !ended || ctx.Err() != nil || time.Since(begun) > patience {
			return err
		}
		retry.Sleep(ctx, sharedPause)
	}
}

// takeOver starts the server of the queue when the process that runs it ends. The function stop ends that.
func (r *queueFlags) takeOver(ctx context.Context, url string) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	server := make(chan *embedded.Server, 1)
	go func() {
		// Without a server, the queue is unreachable.
		s, _ := embedded.TakeOver(ctx, r.embedded, url, r.longRunning)
		server <- s
	}()
	return func() {
		cancel()
		if s := <-server; s != nil {
			s.Close()
		}
	}
}

// shortLivedWait is how long a worker waits for the server of a short-lived process, such as
// submit, to end.
const shortLivedWait = 5 * time.Second

// server starts a server. If another process runs one in the directory, it returns the URL of that
// one. A worker prefers its own server to that of a short-lived process.
func (r *queueFlags) server(ctx context.Context) (*embedded.Server, string, error) {
	for begun := time.Now(); ; {
		s, err := embedded.Start(r.embedded, r.longRunning)
		if err == nil {
			return s, s.URL(), nil
		}
		if !errors.Is(err, embedded.ErrRuns) {
			return nil, "", err
		}
		waited := time.Since(begun)
		url, stays := embedded.Find(r.embedded)
		if url != "" && (stays || !r.longRunning || waited > shortLivedWait) {
			return nil, url, nil
		}
		if waited > 2*shortLivedWait {
			return nil, "", err
		}
		if retry.Sleep(ctx, 100*time.Millisecond) != nil {
			return nil, "", fetch.ContextError(ctx)
		}
	}
}

func (r *queueFlags) tls() (*tls.Config, error) {
	if r.ca == "" && r.cert == "" && r.key == "" {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.ca != "" {
		var err error
		if cfg.RootCAs, err = authorities(r.ca); err != nil {
			return nil, err
		}
	}
	if (r.cert == "") != (r.key == "") {
		return nil, usage("--nats-cert and --nats-key require each other")
	}
	if r.cert != "" {
		pair, err := tls.LoadX509KeyPair(r.cert, r.key)
		if err != nil {
			return nil, fileError(err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

func fileError(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fetch.ErrFile.Wrap("", err)
}
