package embedded

import (
	"net"
	"testing"
	"time"
)

// A server whose port is taken does not start, and leaves the directory to the next one.
func TestServerAtTakenPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	s, err := run(dir, l.Addr().(*net.TCPAddr).Port, "token", 100*time.Millisecond)
	if s != nil || err != nil {
		t.Fatalf("%v, %v", s, err)
	}
	next, err := Start(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}
