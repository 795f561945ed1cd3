// Package lineserver is the common part of test servers that answer a line: it
// listens on a loopback address, keeps a log, and can fail on request.
package lineserver

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// A Handler answers a line, which has lost its end. It may read more of what
// the client sends. The connection is closed after the reply unless more is
// true.
type Handler func(line string, r *bufio.Reader) (reply []byte, more bool)

// A Server is a running server.
type Server struct {
	Addr string // host:port

	handler Handler
	tls     *tls.Config
	done    chan struct{}
	wg      sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	lines []string
	fault fault
}

type fault uint8

const (
	none fault = iota
	cut
	stall
)

// Start runs a server until the test ends, over TLS if cfg is not nil.
func Start(t testing.TB, cfg *tls.Config, h Handler) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String(), handler: h, tls: cfg, done: make(chan struct{}), conns: make(map[net.Conn]bool)}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[c] = true
			s.mu.Unlock()
			s.wg.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		close(s.done)
		l.Close()
		s.mu.Lock()
		for c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s
}

// Log returns the lines received so far.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.lines...)
}

// Cut makes the next reply end half-way, as if it were whole.
func (s *Server) Cut() { s.arm(cut) }

// Stall makes the next reply stop half-way, with the connection left open.
func (s *Server) Stall() { s.arm(stall) }

func (s *Server) arm(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// receive puts a line into the log, and returns the fault that the reply to it
// falls victim to.
func (s *Server) receive(line string) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
	f := s.fault
	s.fault = none
	return f
}

func (s *Server) serve(raw net.Conn) {
	defer func() {
		raw.Close()
		s.mu.Lock()
		delete(s.conns, raw)
		s.mu.Unlock()
	}()
	c := raw
	if s.tls != nil {
		t := tls.Server(raw, s.tls)
		defer t.Close()
		c = t
	}
	r, served := bufio.NewReader(c), false
	defer func() {
		if !served {
			s.arm(none) // it struck a client that gave up before it asked
		}
	}()
	for more := true; more; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		served = true
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		f := s.receive(line)
		var reply []byte
		reply, more = s.handler(line, r)
		if f != none {
			reply, more = reply[:len(reply)/2], false
		}
		if _, err := c.Write(reply); err != nil {
			return
		}
		if f == stall {
			io.Copy(io.Discard, r) // until the client or the test gives up
		}
	}
}
