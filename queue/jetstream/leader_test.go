package jetstream_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/queue/jetstream"
)

// With Wait, Open waits until the cluster has a leader and logs that once. Without Wait, it returns
// an error.
func TestOpenWithoutLeader(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("nats-server 2.15 panics in clusters on 32-bit platforms: unaligned 64-bit atomic operation")
	}
	onServers(t, func(t *testing.T, start starter) {
		ports := freePorts(t, 2)
		member := func(i int) *natsServer {
			return start(t, withJetStream(t, fmt.Sprintf(`server_name: s%d
cluster { name: c, listen: "127.0.0.1:%d", routes: ["nats://127.0.0.1:%d"] }`, i, ports[i], ports[1-i])))
		}
		first := member(0)
		opts := jetstream.Options{URL: first.url}
		jetstream.SetupWithin(&opts, 300*time.Millisecond)
		_, err := jetstream.Open(t.Context(), opts)
		if fetchErr := (*fetch.Error)(nil); !errors.Is(err, jetstream.ErrNoLeader) || !errors.As(err, &fetchErr) || !fetchErr.Retry {
			t.Fatalf("%v, want ErrNoLeader", err)
		}
		log := &lines{}
		opts.Wait, opts.Logger = true, log.logger()
		jetstream.SetupWithin(&opts, time.Second)
		type openResult struct {
			e   *jetstream.Engine
			err error
		}
		done := make(chan openResult, 1)
		go func() {
			e, err := jetstream.Open(t.Context(), opts)
			done <- openResult{e, err}
		}()
		waitFor(t, "log of the wait", func() bool { return log.count("waiting") > 0 })
		member(1)
		o := <-done
		if o.err != nil {
			t.Fatal(o.err)
		}
		o.e.Close()
		if n := log.count("waiting"); n != 1 {
			t.Errorf("wait logged %d times:\n%s", n, log)
		}
	})
}

// freePorts returns unused loopback ports. They are below those that systems choose for other
// connections, because a server listens on them later, and differ from those of other tests.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for len(ports) < n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 30_000+rand.IntN(2000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}
