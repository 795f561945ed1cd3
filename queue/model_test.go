package queue_test

import (
	"testing"
	"time"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// TestModel holds the model that the simulation uses to what real engines have to pass.
func TestModel(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(*testing.T) func() queue.Admin {
		m := queuetest.NewModel(queuetest.Options{
			Limits: queue.Limits{AckWait: time.Second, LeaseTTL: time.Second, Message: 1 << 20}, Window: time.Hour, Timeout: time.Second,
		})
		return func() queue.Admin { return m.Connect("c") }
	})
}

func TestDir(t *testing.T) {
	t.Parallel()
	queuetest.RunStore(t, func(t *testing.T) queuetest.Store {
		d, err := queue.OpenDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	})
}
