// Package interrupt runs a program until it ends or receives a signal.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/stack"
)

// oneTouch is the time in which a second signal counts as the same one: a bouncing key, or a terminal
// and a supervisor that both send it.
const oneTouch = 300 * time.Millisecond

// Run calls f and returns its exit status. A signal cancels the context of f, which then has the time
// grace to return; 0 means no limit. After that, or after a second signal, Run returns the status of
// fetch.ErrInterrupted without waiting for f: contexts cannot interrupt a write to a pipe that nobody
// reads, or the opening of a named pipe without a reader.
//
// The program must exit with the status. Until then, signals that arrive late have no effect on it.
func Run(grace time.Duration, signals []os.Signal, f func(context.Context) int) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	received := make(chan os.Signal, 1)
	if len(signals) > 0 { // no signals would mean all signals
		signal.Notify(received, signals...)
	}
	again := make(chan struct{})
	go func() {
		<-received
		first := time.Now()
		cancel(fetch.ErrInterrupted)
		for range received {
			if time.Since(first) > oneTouch {
				close(again)
				return
			}
		}
	}()
	ended := make(chan int, 1)
	go func() {
		stack.Grow()
		ended <- f(ctx)
	}()
	select {
	case status := <-ended:
		return status
	case <-ctx.Done():
	}
	var late <-chan time.Time
	if grace > 0 {
		late = time.After(grace)
	}
	select {
	case status := <-ended:
		return status
	case <-again:
	case <-late:
	}
	return job.ExitStatus(fetch.ErrInterrupted)
}
