//go:build unix

package interrupt

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// A second signal that arrives when the program is about to exit does not change its status. Without a
// handler, SIGTERM ends the process of the test.
func TestLateSignalsHaveNoEffect(t *testing.T) {
	defer signal.Reset(syscall.SIGTERM)
	send := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	status := Run(0, []os.Signal{syscall.SIGTERM}, func(ctx context.Context) int {
		send()
		<-ctx.Done()
		return 8
	})
	send()
	if status != 8 {
		t.Errorf("status %d, want 8", status)
	}
}
