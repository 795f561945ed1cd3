// Package interrupt runs a program until it ends or a signal asks it to end.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
)

// oneTouch is the time within which a second signal counts as the same: a bouncing key, or a
// terminal and a supervisor that both pass it on.
const oneTouch = 300 * time.Millisecond

// Run calls f and returns its exit status. A signal cancels the context of f, which then has the time
// grace to end in an orderly way; 0 is no bound. After that, or after a second signal, Run returns
// job.ExitInterrupted and leaves f behind: contexts cannot interrupt a write to a pipe that nobody
// reads, or the opening of a named pipe without a reader.
func Run(grace time.Duration, signals []os.Signal, f func(context.Context) int) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	received := make(chan os.Signal, 1)
	if len(signals) > 0 { // none would be all of them
		signal.Notify(received, signals...)
		defer signal.Stop(received)
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
	go func() { ended <- f(ctx) }()
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
	return job.ExitInterrupted
}
