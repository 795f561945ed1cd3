//go:build unix

package tty

import (
	"os"
	"os/signal"
	"syscall"
)

// OnResize calls changed whenever the size of the terminal window changes, until stop is called.
func OnResize(tell func()) (stop func()) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-changed:
				tell()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(done)
		<-ended
	}
}
