package embedded_test

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/queue/jetstream/embedded"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.init.0.func1"))
}

// TestFind calls Find in the same process, which finds the lock taken like another process.
func TestFind(t *testing.T) {
	for _, longRunning := range []bool{true, false} {
		dir := t.TempDir()
		if url, _ := embedded.Find(dir); url != "" {
			t.Errorf("Find without a server: %s", url)
		}
		s, err := embedded.Start(dir, longRunning)
		if err != nil {
			t.Fatal(err)
		}
		if url, gotLongRunning := embedded.Find(dir); url != s.URL() || gotLongRunning != longRunning {
			t.Errorf("Find: %s, %v; want %s, %v", url, gotLongRunning, s.URL(), longRunning)
		}
		if second, err := embedded.Start(dir, true); !errors.Is(err, embedded.ErrRuns) {
			second.Close()
			t.Errorf("second Start: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if url, longRunning := embedded.Find(dir); url != "" || longRunning {
			t.Errorf("Find after Close: %s, %v", url, longRunning)
		}
	}
}
