// Package telnetd is a server for tests of terminal sessions: it says and
// expects what a test's script tells it, octet by octet, and can misbehave.
package telnetd

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A Server is a running server.
type Server struct {
	Addr string // host:port
}

// Start runs a server until the test ends. Each connection is given to script,
// and closed when that returns.
func Start(t testing.TB, script func(c *Conn)) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		conns []net.Conn
	)
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				script(&Conn{Conn: c, t: t})
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return &Server{Addr: l.Addr().String()}
}

// A Conn is a connection of a client.
type Conn struct {
	net.Conn
	t testing.TB
}

// Send sends the octets of s.
func (c *Conn) Send(s string) { io.WriteString(c, s) }

// Expect reads as many octets as want has. The test fails, and Expect returns
// false, if they are others.
func (c *Conn) Expect(want string) bool {
	c.t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c, got)
	if string(got[:n]) != want {
		c.t.Errorf("the server got %q, want %q (%v)", got[:n], want, err)
		return false
	}
	return true
}

// Flood sends s again and again, until the client is gone. It returns how many
// octets the client's side took.
func (c *Conn) Flood(s string) (sent int64) {
	for {
		n, err := io.WriteString(c, s)
		sent += int64(n)
		if err != nil {
			return sent
		}
	}
}

// Wait reads until the client is gone.
func (c *Conn) Wait() { io.Copy(io.Discard, c) }
