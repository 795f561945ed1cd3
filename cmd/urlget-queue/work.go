package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/mid"
	"github.com/urlget/urlget/protocols/sftp"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// labour is what the flags of work say.
type labour struct {
	jobs, perHost, tries int
	wait, grace          time.Duration
	artefacts            keeping
	listen               string
	warc                 string
	untilEmpty           bool
	private              bool
	ports                []uint
	maxSize              int64
	json                 bool
}

func (a *app) workCommand() *cobra.Command {
	l := &labour{}
	cmd := &cobra.Command{
		Use:   "work [flags]",
		Short: "Retrieve what is in a queue, until a signal",
		Long: `Retrieve what is in a queue. Contents are kept by their digests, in files
below --artefacts, a bucket or an object store; how jobs ended is told by "urlget queue results". SIGTERM and SIGINT let
what is under way end, for --grace at most; a second signal ends the program at
once. Nothing is lost either way.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.work(cmd.Context(), l) },
	}
	f := cmd.Flags()
	a.reach.define(f)
	f.IntVarP(&l.jobs, "jobs", "j", 4, "do `N` jobs at once")
	f.IntVar(&l.perHost, "per-host", 2, "`N` transfers from one host at once, of all workers together; all must say the same")
	f.DurationVar(&l.wait, "wait", 0, "leave a host alone for `TIME` after a transfer")
	f.IntVarP(&l.tries, "tries", "t", 5, "after `N` failures a job is a dead letter")
	l.artefacts.define(f)
	f.StringVar(&l.warc, "warc", "", "record everything in an archive of this worker (.warc.gz) below `DIR`")
	f.BoolVar(&l.untilEmpty, "until-empty", false, "end when nothing is left in the queue, also in the hands of other workers")
	f.BoolVar(&l.private, "allow-private", false, "retrieve from private addresses too")
	f.UintSliceVar(&l.ports, "allow-port", nil, "retrieve from reserved `PORT`s too")
	f.Int64Var(&l.maxSize, "max-size", 0, "refuse contents of more than `N` bytes")
	f.DurationVar(&l.grace, "grace", 30*time.Second, "after a signal, wait for `TIME` for what is under way")
	f.StringVar(&l.listen, "listen", "", "serve /metrics, /healthz and /readyz at `ADDRESS`, on loopback")
	f.BoolVar(&l.json, "log-json", false, "write the log as JSON Lines")
	return cmd
}

func (l *labour) check() error {
	switch {
	case l.jobs < 1:
		return usage("--jobs: want 1 or more")
	case l.perHost < 1:
		return usage("--per-host: want 1 or more")
	case l.tries < 1:
		return usage("--tries: want 1 or more")
	case l.wait < 0 || l.grace < 0 || l.maxSize < 0:
		return usage("--wait, --grace and --max-size: want 0 or more")
	}
	if l.listen == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(l.listen)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usage("--listen: want an address on loopback, such as 127.0.0.1:9464")
	}
	return nil
}

// withoutUser keeps what belongs to the user of a worker from the drivers. The policy does so as
// well.
var withoutUser = protocols.Config{
	SFTP: &sftp.Options{NoConfig: true, NoAgent: true, NoIdentities: true},
	Mid:  &mid.Options{Mailboxes: []string{}},
}

func (a *app) work(ctx context.Context, l *labour) error {
	if err := l.check(); err != nil {
		return err
	}
	var logs slog.Handler = slog.NewTextHandler(a.err, nil)
	if l.json {
		logs = slog.NewJSONHandler(a.err, nil)
	}
	logger := slog.New(logs)
	spans, flush, err := openSpans(ctx, l.grace, logger)
	if err != nil {
		return err
	}
	defer flush()
	a.reach.stays = true
	e, done, err := a.reach.open(ctx, logger)
	if err != nil {
		return err
	}
	defer done()
	store, closer, err := l.artefacts.open(ctx, func() (*jetstream.Engine, error) { return e, nil })
	if err != nil {
		return err
	}
	defer closer.Close()

	policy := &fetch.Policy{Untrusted: true, AllowPrivate: l.private, MaxSize: l.maxSize}
	for _, port := range l.ports {
		if port > 65535 {
			return usage("--allow-port: there is no port %d", port)
		}
		policy.AllowPorts = append(policy.AllowPorts, uint16(port))
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	opts := &fetch.Options{Policy: policy, Logger: logger}
	var settle func() error
	var recorders []fetch.Recorder
	if l.warc != "" {
		archive, recorder, err := record(l.warc, cmp.Or(a.reach.crawl, a.reach.name), end)
		if err != nil {
			return err
		}
		defer archive.Close()
		recorders, settle = append(recorders, recorder), archive.Sync
	}
	if spans != nil {
		recorders = append(recorders, spans.Recorder())
	}
	if len(recorders) > 0 {
		opts.Recorder = fetch.JoinRecorders(recorders...)
	}
	client := fetch.New(opts, protocols.With(withoutUser))
	defer client.Close()
	name, _ := os.Hostname()
	w := &queue.Worker{
		Engine: e, Runner: queue.Runner(job.Runner{Downloader: &download.Downloader{Client: client}}), Store: store,
		Name: fmt.Sprintf("%s/%d", name, os.Getpid()), Parallel: l.jobs, PerHost: l.perHost, Delay: l.wait, Retry: retry.Policy{Tries: l.tries},
		Grace: l.grace, Metrics: &queue.Metrics{}, Logger: logger, Crawl: a.reach.crawl != "", Settle: settle,
	}
	if spans != nil {
		w.Trace = spans.Attempt
	}
	if l.grace == 0 {
		w.Grace = -1
	}
	if l.listen != "" {
		stop, err := serveMetrics(l.listen, e, w.Metrics, logger)
		if err != nil {
			return fileError(err)
		}
		defer stop()
	}
	logger.Info("at work", "worker", w.Name, "jobs", l.jobs)
	if l.untilEmpty {
		go waitUntilEmpty(ctx, e, logger, end)
	}
	err = w.Run(ctx)
	logger.Info("ended", "jobs", w.Metrics.Ended())
	if why := context.Cause(ctx); err == nil && fetch.CodeOf(why) == fetch.ErrFile {
		return why
	}
	return err
}

// errEmpty ends a worker that was to work until the queue is empty.
var errEmpty = errors.New("nothing is left in the queue")

// waitUntilEmpty ends the worker when nothing is left in the queue: what pages lead to is there
// before they end. A crawl must have begun.
func waitUntilEmpty(ctx context.Context, e *jetstream.Engine, logger *slog.Logger, end context.CancelCauseFunc) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		short, cancel := context.WithTimeout(ctx, statusWithin)
		s, err := e.Status(short)
		if err == nil && s.Depth() == 0 && e.Pages() != nil {
			_, err = queue.LoadCrawl(short, e)
		}
		cancel()
		switch {
		case err != nil:
			logger.Debug("the queue does not tell how much is in it", "error", err)
		case s.Depth() == 0:
			end(errEmpty)
			return
		}
	}
}

// statusWithin bounds how long the queue is asked for its status.
const statusWithin = 5 * time.Second

// serveMetrics serves what machines want to know of the worker.
func serveMetrics(addr string, e *jetstream.Engine, m *queue.Metrics, logger *slog.Logger) (stop func(), err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := e.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), statusWithin)
		defer cancel()
		status, err := e.Status(ctx)
		if err != nil {
			status = nil // the worker's own numbers count all the same
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.WriteText(w, status)
	})
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: statusWithin}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("metrics are not served any more", "error", err)
		}
	}()
	logger.Info("metrics", "address", l.Addr().String())
	return func() { s.Close() }, nil
}
