//go:build unix

package tty

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// OnResize calls changed whenever the size of the terminal window changes, until stop is called.
func OnResize(changed func()) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	var calls sync.WaitGroup
	calls.Go(func() {
		for range signals {
			changed()
		}
	})
	return func() {
		signal.Stop(signals)
		close(signals)
		calls.Wait()
	}
}
