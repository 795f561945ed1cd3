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

// TestOthersFindTheServer calls Find in the same process, which finds the lock taken like another
// process.
func TestOthersFindTheServer(t *testing.T) {
	for _, stays := range []bool{true, false} {
		dir := t.TempDir()
		if url, _ := embedded.Find(dir); url != "" {
			t.Errorf("%s, and there is no server", url)
		}
		s, err := embedded.Start(dir, stays)
		if err != nil {
			t.Fatal(err)
		}
		if url, told := embedded.Find(dir); url != s.URL() || told != stays {
			t.Errorf("%s, stays: %v; want %s, %v", url, told, s.URL(), stays)
		}
		if second, err := embedded.Start(dir, true); !errors.Is(err, embedded.ErrRuns) {
			second.Close()
			t.Errorf("a second server: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if url, stays := embedded.Find(dir); url != "" || stays {
			t.Errorf("%s, stays: %v; the server has ended", url, stays)
		}
	}
}
