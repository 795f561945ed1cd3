package jetstream_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/jetstream/embedded"
	"github.com/urlget/urlget/queue/queuetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.init.0.func1"))
}

// serve starts a server for the test.
func serve(t *testing.T) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// open connects to a server for the test.
func open(t *testing.T, opts jetstream.Options) *jetstream.Engine {
	t.Helper()
	opts.Wait = true // a busy machine may need longer than the limit of Open
	e, err := jetstream.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestEngine(t *testing.T) { testEngine(t, "") }

func TestCrawlEngine(t *testing.T) { testEngine(t, "docs") }

func testEngine(t *testing.T, crawl string) {
	t.Parallel()
	queuetest.Run(t, func(t *testing.T) func() queue.Admin {
		s := serve(t)
		return func() queue.Admin {
			// On a busy machine, prefetched jobs may not be extended for seconds.
			opts := jetstream.Options{InProcess: s, URL: s.URL(), Crawl: crawl, AckWait: 4 * time.Second, LeaseTTL: 2 * time.Second}
			jetstream.WaitLong(&opts, time.Hour)
			return open(t, opts)
		}
	})
}
