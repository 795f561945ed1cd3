package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/urlget/urlget/queue/otel"
)

const flushTimeout = 5 * time.Second

// openSpans returns the tracer of a worker, or nil if the environment disables spans. The function
// flush sends the remaining spans, at most until the grace period after the end of ctx is over.
func openSpans(
	ctx context.Context, grace time.Duration, logger *slog.Logger,
) (_ *otel.Tracer, flush func(), err error) {
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
		short, done := context.WithTimeout(within, flushTimeout)
		defer done()
		spans.Close(short)
	}, nil
}
