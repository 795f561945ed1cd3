//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// onResize calls tell whenever the size of the terminal window changes, until stop is called.
func onResize(tell func()) (stop func()) {
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
