package embedded_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
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

// TestTakeOver ends a server. The next one has its URL.
func TestTakeOver(t *testing.T) {
	dir := t.TempDir()
	first, err := embedded.Start(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	url := first.URL()
	taken := make(chan *embedded.Server, 1)
	go func() {
		s, err := embedded.TakeOver(t.Context(), dir, url, false)
		if err != nil {
			t.Error(err)
		}
		taken <- s
	}()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	second := <-taken
	if second == nil {
		t.Fatal("no server")
	}
	if found, longRunning := embedded.Find(dir); second.URL() != url || found != url || longRunning {
		t.Errorf("the URL is %s and %s (long-running: %v), want %s", second.URL(), found, longRunning, url)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	third, err := embedded.Start(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if third.URL() != url {
		t.Errorf("the URL of the next server is %s, want %s", third.URL(), url)
	}
	if err := third.Close(); err != nil {
		t.Error(err)
	}
}

// TestDirFindsTheNextServer ends a server whose port another program takes. The next one has another
// port and the same token, and a connected client finds it.
func TestDirFindsTheNextServer(t *testing.T) {
	dir := t.TempDir()
	first, err := embedded.Start(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	url := first.URL()
	back := make(chan string, 1)
	client, err := nats.Connect(url, nats.InProcessServer(embedded.Dir(dir)), nats.MaxReconnects(-1),
		nats.ReconnectWait(10*time.Millisecond),
		nats.ReconnectHandler(func(c *nats.Conn) { back <- c.ConnectedServerId() }))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	_, host, _ := strings.Cut(url, "@")
	other, err := net.Listen("tcp", host)
	if err != nil {
		t.Skip("the port was taken at once: ", err)
	}
	defer other.Close()
	second, err := embedded.TakeOver(t.Context(), dir, url, true)
	if err != nil || second == nil {
		t.Fatal(second, err)
	}
	defer second.Close()
	if token, _, _ := strings.Cut(url, "@"); second.URL() == url || !strings.HasPrefix(second.URL(), token+"@") {
		t.Errorf("the URL of the next server is %s after %s, want another port and the same token", second.URL(), url)
	}
	<-back
	if err := client.Flush(); err != nil {
		t.Error(err)
	}
}

// TestTakeOverEnds waits for a server that does not end, one that has another token, and one whose
// directory was removed.
func TestTakeOverEnds(t *testing.T) {
	dir := t.TempDir()
	s, err := embedded.Start(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	removed := t.TempDir()
	if err := os.Remove(removed); err != nil {
		t.Fatal(err)
	}
	for name, wait := range map[string]func() (*embedded.Server, error){
		"the context ends": func() (*embedded.Server, error) { return embedded.TakeOver(cancelled, dir, s.URL(), true) },
		"another token": func() (*embedded.Server, error) {
			return embedded.TakeOver(t.Context(), dir, "nats://x@127.0.0.1:1", true)
		},
		"the directory is gone": func() (*embedded.Server, error) { return embedded.TakeOver(t.Context(), removed, s.URL(), true) },
	} {
		if other, err := wait(); other != nil || err != nil {
			t.Errorf("%s: %v, %v", name, other, err)
		}
	}
	if _, err := os.Stat(removed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the removed directory: %v", err)
	}
}

// TestAddressIsReplaced reads the address file that was opened before the next server wrote it. A process
// that looks for the server at that moment must not find half of its address.
func TestAddressIsReplaced(t *testing.T) {
	dir := t.TempDir()
	first, err := embedded.Start(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	url := first.URL()
	first.Close()
	f, err := os.Open(filepath.Join(dir, "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	second, err := embedded.Start(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	data, err := io.ReadAll(f)
	if want := `{"url":"` + url + `"}`; err != nil || string(data) != want {
		t.Errorf("the file has %q (%v), want %q", data, err, want)
	}
}
