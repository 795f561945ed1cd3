package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/jetstream/embedded"
)

// reach is what the flags say of how to reach the queue.
type reach struct {
	url, creds, nkey, name string
	ca, cert, key          string
	embedded               string
	crawl                  string
	existing               bool // the crawl must be there
	stays                  bool // the program is a worker
	replicas               int
	maxJobs                int64
	ackWait                time.Duration
}

func (r *reach) define(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&r.url, "nats", "", "reach the queue on the NATS servers at `URL`, several with commas (default $URLGET_NATS, or nats://127.0.0.1:4222)")
	f.StringVar(&r.embedded, "embedded", "", "keep the queue in `DIR`, with a server of its own")
	f.StringVar(&r.name, "name", "urlget", "the `NAME` of the queue")
	f.StringVar(&r.crawl, "crawl", "", "not the queue of jobs, but that of the crawl `NAME`")
	f.StringVar(&r.creds, "creds", "", "log in with the credentials in `FILE`")
	f.StringVar(&r.nkey, "nkey", "", "log in with the key whose seed is in `FILE`")
	f.StringVar(&r.ca, "ca-certificate", "", "trust the certificates in `FILE` (PEM)")
	f.StringVar(&r.cert, "certificate", "", "the client's certificate (`FILE`, PEM)")
	f.StringVar(&r.key, "private-key", "", "its private key (`FILE`, PEM)")
	f.IntVar(&r.replicas, "replicas", 1, "if the queue is not there yet: keep it on `N` servers")
	f.Int64Var(&r.maxJobs, "max-jobs", 0, "if the queue is not there yet: take `N` jobs of each priority at most")
	f.DurationVar(&r.ackWait, "ack-wait", time.Minute, "if the queue is not there yet: give the jobs of a worker to others that says nothing for `TIME`")
}

// minAckWait leaves a worker time to tell that it is still there, over a network that is slow.
const minAckWait = 5 * time.Second

// open opens the queue. With --embedded, the server of another process is used if one runs there.
func (r *reach) open(ctx context.Context, logger *slog.Logger) (e *jetstream.Engine, done func(), err error) {
	// The variable is not the default of the flag: help prints defaults, and it may hold a login.
	opts := jetstream.Options{URL: cmp.Or(r.url, os.Getenv("URLGET_NATS")), Credentials: r.creds, NKey: r.nkey, Name: r.name, Replicas: r.replicas, MaxJobs: r.maxJobs, AckWait: r.ackWait,
		Logger: logger, Crawl: r.crawl, Existing: r.existing, Wait: r.stays}
	if r.ackWait < minAckWait {
		return nil, nil, usage("--ack-wait: want %v or more", minAckWait)
	}
	if r.replicas != 1 && r.replicas != 3 && r.replicas != 5 {
		return nil, nil, usage("--replicas: want 1, 3 or 5")
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

func (r *reach) openEmbedded(ctx context.Context, opts jetstream.Options) (*jetstream.Engine, func(), error) {
	if r.replicas != 1 || r.creds != "" || r.nkey != "" {
		return nil, nil, usage("--embedded has one server, and no logins")
	}
	s, url, err := r.server(ctx)
	if err != nil {
		return nil, nil, err
	}
	opts.URL = url
	stop := func() {}
	if s != nil {
		opts.InProcess = s
		stop = func() { s.Close() }
	}
	e, err := jetstream.Open(ctx, opts)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return e, func() {
		e.Close()
		stop()
	}, nil
}

// passing is for how long a worker waits for the server of a process that does not stay: one that
// submits or looks.
const passing = 5 * time.Second

// server starts a server or, if another process has one in the directory, returns where that is. A
// worker would rather have its own than that of a process that does not stay.
func (r *reach) server(ctx context.Context) (*embedded.Server, string, error) {
	for begun := time.Now(); ; {
		s, err := embedded.Start(r.embedded, r.stays)
		if err == nil {
			return s, s.URL(), nil
		}
		if !errors.Is(err, embedded.ErrRuns) {
			return nil, "", err
		}
		waited := time.Since(begun)
		if url, stays := embedded.Find(r.embedded); url != "" && (stays || !r.stays || waited > passing) {
			return nil, url, nil
		}
		if waited > 2*passing {
			return nil, "", err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, "", fetch.ContextError(ctx)
		}
	}
}

func (r *reach) tls() (*tls.Config, error) {
	if r.ca == "" && r.cert == "" && r.key == "" {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.ca != "" {
		pem, err := os.ReadFile(r.ca)
		if err != nil {
			return nil, fileError(err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fileError(fmt.Errorf("%s holds no certificate in PEM form", r.ca))
		}
	}
	if (r.cert == "") != (r.key == "") {
		return nil, usage("--certificate and --private-key belong together")
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

// fileError classifies an error of the local system.
func fileError(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fetch.ErrFile.Wrap("", err)
}
