//go:build unix

package interrupt

import (
	"context"
	"os"
	"syscall"
	"testing"
)

// A second signal that arrives when the program is about to exit does not change its status. Without a
// handler, SIGTERM ends the process of the test. The test leaves the handler as it is: the kernel may
// deliver the signal to another thread after kill has returned.
func TestLateSignalsHaveNoEffect(t *testing.T) {
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
