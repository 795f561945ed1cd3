package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/cookies"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/gemini"
	web "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/sftp"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

type workFlags struct {
	jobs, perHost, tries int
	wait, grace          time.Duration
	maxTime              seconds
	artefacts            storeFlags
	listen               string
	warc                 string
	untilEmpty           bool
	private              bool
	ports                []uint
	maxSize, minFree     int64
	json                 bool
	network              networkFlags
}

func (a *app) workCommand() *cobra.Command {
	l := &workFlags{}
	cmd := &cobra.Command{
		Use:   "work [flags]",
		Short: "Retrieve the URLs of a queue until a signal",
		Example: `  urlget work --nats nats://queue.example --artefacts s3://bucket/site
  urlget work --embedded ~/queue --until-empty -j 16`,
		Long: `Retrieve the URLs of a queue. Workers store contents by digest: in files below
--artefacts, in a bucket or in an object store. "urlget queue results" prints
the results. After SIGTERM or SIGINT, current transfers may take up to --grace
to finish. A second signal ends the program at once. No job is lost in either
case.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.work(cmd.Context(), l) },
	}
	f := cmd.Flags()
	a.queueFlags.define(f)
	f.IntVarP(&l.jobs, "jobs", "j", 4, "run `N` jobs at once")
	f.IntVar(&l.perHost, "per-host", 2,
		"limit all workers together to `N` transfers at once per host; must be equal for all workers")
	f.DurationVar(&l.wait, "wait", 0, "wait `TIME` after a transfer before the next one from the same host")
	f.IntVarP(&l.tries, "tries", "t", 5, "make a job a dead letter after `N` failures")
	l.artefacts.define(f)
	f.StringVar(&l.warc, "warc", "", "record all traffic in an archive of this worker (.warc.gz) in `DIR`")
	f.BoolVar(&l.untilEmpty, "until-empty", false, "exit when the queue is empty and no worker has a job")
	f.BoolVar(&l.private, "allow-private", false, "allow private addresses")
	f.UintSliceVar(&l.ports, "allow-port", nil, "allow the reserved `PORT`s")
	f.Int64Var(&l.maxSize, "max-size", 0, "refuse bodies of more than `N` bytes")
	f.Int64Var(&l.minFree, "min-free", 0,
		"start no jobs while the directory of --artefacts has less than `N` bytes free")
	f.Var(&l.maxTime, "max-time", "limit an attempt at a URL to `SECONDS`")
	f.DurationVar(&l.grace, "grace", 30*time.Second,
		"after a signal, wait up to `TIME` for current transfers")
	f.StringVar(&l.listen, "listen", "", "serve /metrics, /healthz and /readyz at the loopback `ADDRESS`")
	l.network.define(f)
	f.BoolVar(&l.json, "log-json", false, "write the log as JSON Lines")
	return cmd
}

func (l *workFlags) check() error {
	switch {
	case l.jobs < 1:
		return usage("--jobs must be 1 or more")
	case l.perHost < 1:
		return usage("--per-host must be 1 or more")
	case l.tries < 1:
		return usage("--tries must be 1 or more")
	case l.wait < 0 || l.grace < 0 || l.maxSize < 0 || l.minFree < 0:
		return usage("--wait, --grace, --max-size and --min-free must be 0 or more")
	}
	for _, port := range l.ports {
		if port > 65535 {
			return usage("--allow-port: invalid port %d", port)
		}
	}
	if l.listen == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(l.listen)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usage("--listen requires a loopback address, such as 127.0.0.1:9464")
	}
	return nil
}

// untrustedConfig returns a configuration with which drivers do not use the files and agents of the user
// who runs the worker. The policy forbids them too. HTTP requests send the cookies in jar.
func untrustedConfig(n *networkFlags, jar *cookies.Jar) protocols.Config {
	return protocols.Config{
		HTTP:   &web.Options{Jar: jar},
		SFTP:   &sftp.Options{NoConfig: true, NoAgent: true, NoIdentities: true, KnownHosts: n.knownHosts},
		Gemini: &gemini.Options{Certificates: n.tofu},
		Mid:    &mid.Options{Mailboxes: []string{}},
	}
}

func (l *workFlags) logger(w io.Writer) *slog.Logger {
	if l.json {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// worker returns the worker that the flags describe, without engine, store, archive and client.
func (l *workFlags) worker(logger *slog.Logger) *queue.Worker {
	name, _ := os.Hostname()
	w := &queue.Worker{
		Name:     fmt.Sprintf("%s/%d", name, os.Getpid()),
		Parallel: l.jobs, PerHost: l.perHost, Delay: l.wait, Retry: retry.Policy{Tries: l.tries},
		Grace: l.grace, MaxTime: time.Duration(l.maxTime),
		Metrics: &queue.Metrics{}, Hint: hint, Logger: logger,
	}
	if l.grace == 0 {
		w.Grace = -1
	}
	return w
}

func (l *workFlags) policy() *fetch.Policy {
	p := &fetch.Policy{Untrusted: true, AllowPrivate: l.private, MaxSize: l.maxSize}
	for _, port := range l.ports {
		p.AllowPorts = append(p.AllowPorts, uint16(port))
	}
	return p
}

func (a *app) work(ctx context.Context, l *workFlags) error {
	if err := l.check(); err != nil {
		return err
	}
	logger := l.logger(a.err)
	opts := &fetch.Options{Policy: l.policy(), Logger: logger}
	if err := l.network.apply(opts, logger); err != nil {
		return err
	}
	spans, flush, err := openSpans(ctx, l.grace, logger)
	if err != nil {
		return err
	}
	defer flush()
	a.queueFlags.longRunning = true
	e, done, err := a.queueFlags.open(ctx, logger)
	if err != nil {
		return err
	}
	defer done()
	if a.queueFlags.onOneServer(ctx, e) {
		logger.Warn(oneServer)
	}
	store, closeStore, err := l.artefacts.open(ctx, e)
	if err != nil {
		return err
	}
	defer closeStore()

	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	w := l.worker(logger)
	w.Engine, w.Store, w.Crawl = e, store, a.queueFlags.crawl != ""
	if w.Check, err = l.diskCheck(store); err != nil {
		return err
	}
	jar := cookies.New()
	w.Cookies = func(file []byte) error { return jar.Replace(bytes.NewReader(file)) }
	var recorders []fetch.Recorder
	if l.warc != "" {
		archive, recorder, err := record(l.warc, cmp.Or(a.queueFlags.crawl, a.queueFlags.name), end)
		if err != nil {
			return err
		}
		defer archive.Close()
		recorders = append(recorders, recorder)
		w.Sync, w.Cookies = archive.Sync, restrictOnUse(archive, w.Cookies)
	}
	if spans != nil {
		recorders, w.Trace = append(recorders, spans.Recorder()), spans.Attempt
	}
	if len(recorders) > 0 {
		opts.Recorder = fetch.JoinRecorders(recorders...)
	}
	client := fetch.New(opts, protocols.With(untrustedConfig(&l.network, jar)))
	defer client.Close()
	w.Runner = &job.Runner{Downloader: &download.Downloader{Client: client}}
	if l.listen != "" {
		stop, err := serveMetrics(l.listen, e, w.Metrics, logger)
		if err != nil {
			return fileError(err)
		}
		defer stop()
	}
	return l.run(ctx, w, e, end)
}

// diskCheck returns a function that returns an error while the directory of the store has too little free
// space, or nil without --min-free.
func (l *workFlags) diskCheck(store queue.Store) (func(context.Context) error, error) {
	if l.minFree == 0 {
		return nil, nil
	}
	dir, ok := store.(*queue.Dir)
	if !ok {
		return nil, usage("--min-free requires a directory of contents")
	}
	return func(context.Context) error {
		free, err := dir.Free()
		if err == nil && free < l.minFree {
			err = fmt.Errorf("%s has only %d bytes free", l.artefacts.location, free)
		}
		return err
	}, nil
}

func (l *workFlags) run(
	ctx context.Context, w *queue.Worker, e *jetstream.Engine, end context.CancelCauseFunc,
) error {
	w.Logger.Info("started", "worker", w.Name, "jobs", l.jobs)
	if l.untilEmpty {
		go waitUntilEmpty(ctx, e, w.Logger, end)
	}
	err := w.Run(ctx)
	w.Logger.Info("ended", "jobs", w.Metrics.Ended())
	if why := context.Cause(ctx); err == nil && fetch.CodeOf(why) == fetch.ErrFile {
		return why
	}
	return err
}

var errEmpty = errors.New("the queue is empty")

// waitUntilEmpty ends the worker when the queue is empty. Links are queued before their page ends,
// so that an empty queue has no further work. A crawl must have been started.
func waitUntilEmpty(
	ctx context.Context, e *jetstream.Engine, logger *slog.Logger, end context.CancelCauseFunc,
) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		short, cancel := context.WithTimeout(ctx, statusTimeout)
		s, err := e.Status(short)
		if err == nil && s.Depth() == 0 && e.Pages() != nil {
			_, err = queue.LoadCrawl(short, e)
		}
		cancel()
		switch {
		case err != nil:
			logger.Debug("cannot read the queue status", "error", err)
		case s.Depth() == 0:
			end(errEmpty)
			return
		}
	}
}

const statusTimeout = 5 * time.Second

func serveMetrics(
	addr string, e *jetstream.Engine, m *queue.Metrics, logger *slog.Logger,
) (stop func(), err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := cmp.Or(e.Ready(), m.Ready()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusTimeout)
		defer cancel()
		status, err := e.Status(ctx)
		if err != nil {
			status = nil // the worker's metrics do not need it
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.WriteText(w, status)
	})
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: statusTimeout}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("the metrics server failed", "error", err)
		}
	}()
	logger.Info("serving metrics", "address", l.Addr().String())
	return func() { s.Close() }, nil
}
