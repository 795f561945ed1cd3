package jetstream_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/urlget/urlget/queue"
)

// A natsServer is a running NATS server.
type natsServer struct {
	url  string // without credentials
	stop func()
}

// A starter starts a server with a configuration. The server runs until the test ends or stop is
// called.
type starter func(t *testing.T, config string) *natsServer

// onServers runs a test against a server in the process, and against the program named by
// URLGET_NATS_SERVER, such as Debian's nats-server.
func onServers(t *testing.T, test func(*testing.T, starter)) {
	t.Helper()
	t.Parallel()
	t.Run("Library", func(t *testing.T) {
		t.Parallel()
		test(t, startLibrary)
	})
	t.Run("Program", func(t *testing.T) {
		t.Parallel()
		if os.Getenv("URLGET_NATS_SERVER") == "" {
			t.Skip("URLGET_NATS_SERVER is not set")
		}
		test(t, startProgram)
	})
}

// writeConfig writes a configuration to a file. The server chooses its port unless config sets one.
func writeConfig(t *testing.T, config string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(name, []byte("listen: 127.0.0.1:-1\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func startLibrary(t *testing.T, config string) *natsServer {
	t.Helper()
	opts, err := server.ProcessConfigFile(writeConfig(t, config))
	if err != nil {
		t.Fatal(err)
	}
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	n := &natsServer{stop: func() {
		s.Shutdown()
		s.WaitForShutdown()
	}}
	t.Cleanup(n.stop)
	if !s.ReadyForConnections(patience) {
		t.Fatal("server did not start")
	}
	n.url = "nats://" + s.Addr().String()
	return n
}

func startProgram(t *testing.T, config string) *natsServer {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(os.Getenv("URLGET_NATS_SERVER"), "-c", writeConfig(t, config), "--ports_file_dir", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := &natsServer{stop: func() {
		cmd.Process.Kill()
		cmd.Wait()
	}}
	t.Cleanup(n.stop)
	file := filepath.Join(dir, fmt.Sprintf("%s_%d.ports", filepath.Base(cmd.Path), cmd.Process.Pid))
	waitFor(t, "ports file", func() bool {
		var ports struct{ NATS []string }
		data, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(data, &ports) != nil || len(ports.NATS) == 0 {
			return false
		}
		n.url = ports.NATS[0]
		return true
	})
	return n
}

// patience limits waits that must succeed. They take long only if the machine is busy.
const patience = 5 * time.Minute

// waitFor waits until cond returns true.
func waitFor(t *testing.T, event string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if cond() {
			return
		}
	}
	t.Fatalf("%s: not within %v", event, patience)
}

// withJetStream returns a configuration with JetStream and more lines.
func withJetStream(t *testing.T, more string) string {
	t.Helper()
	return fmt.Sprintf("jetstream { store_dir: %q }\n%s\n", t.TempDir(), more)
}

// nextDelivery returns the next delivery.
func nextDelivery(t *testing.T, e queue.Engine) queue.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		d, err := e.Next(ctx)
		if err == nil {
			return d
		}
		if ctx.Err() != nil {
			t.Fatalf("no delivery: %v", err)
		}
	}
}

// lines is a log in memory.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) count(text string) int { return strings.Count(l.String(), text) }
func (l *lines) logger() *slog.Logger  { return slog.New(slog.NewTextHandler(l, nil)) }
