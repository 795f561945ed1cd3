package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/urlget/urlget/queue/otel"
)

// flushWithin bounds how long a worker that ends waits for its last spans.
const flushWithin = 5 * time.Second

// openSpans returns what sends spans of a worker, nil if the environment wants none. Flush sends
// those that are left, until the time of grace after ctx is over.
func openSpans(ctx context.Context, grace time.Duration, logger *slog.Logger) (_ *otel.Tracer, flush func(), err error) {
	spans, err := otel.Open(ctx, "urlget-queue", logger)
	if err != nil {
		return nil, nil, usage("%v", err)
	}
	if spans == nil {
		return nil, func() {}, nil
	}
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return spans, func() {
		defer cancel()
		defer stop()
		short, done := context.WithTimeout(within, flushWithin)
		defer done()
		spans.Close(short)
	}, nil
}
