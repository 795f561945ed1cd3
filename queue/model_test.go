package queue_test

import (
	"testing"
	"time"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// TestModel runs the engine tests on the in-memory model that the simulation uses.
func TestModel(t *testing.T) {
	t.Parallel()
	queuetest.RunWithFakeClock(t, func(*testing.T) func() queue.Admin {
		m := queuetest.NewModel(queuetest.Options{Limits: queue.Limits{AckWait: time.Second, LeaseTTL: time.Second}})
		return func() queue.Admin { return m.Connect("c") }
	})
}
