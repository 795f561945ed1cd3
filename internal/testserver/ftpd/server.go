// Package ftpd is an FTP server for tests: it serves a file system on a loopback address, with TLS if
// wanted, keeps a log of what it was told, and fails on request.
package ftpd

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Options change what a server does. The zero value serves everybody in clear.
type Options struct {
	// Host is the address to listen on; "" is 127.0.0.1.
	Host string
	// TLS is the configuration for AUTH TLS; nil if the server does not know it.
	TLS *tls.Config
	// Implicit begins TLS with the connection.
	Implicit bool
	// Users has the passwords by user name. Without it, every user gets in.
	Users map[string]string
	// Account is what ACCT must say; "" if it is not asked for.
	Account string
	// Unknown are commands that the server answers with 502.
	Unknown []string
	// Replies are answers to commands in place of those that are right, with their line ends. The
	// commands then have no effect.
	Replies map[string]string
	// Silent is a command that is never answered.
	Silent string
	// Elsewhere is the address that PASV names, as "192,0,2,1"; "" means where the server waits.
	Elsewhere string
	// OneByOne loses commands that arrive together with another.
	OneByOne bool
	// Reuse refuses data connections that do not take up the TLS session of the control connection.
	Reuse bool
}

// A Fault is a way to fail the next transfer of a file.
type Fault uint8

// The faults.
const (
	None       Fault = iota
	Cut              // close all connections after half of the file
	Stall            // send half of the file and nothing more
	Noise            // answer with octets that are no reply
	Abort            // close the data connection after half of the file, and reply 426
	Quiet            // close the data connection after half of the file, and say nothing
	Incomplete       // send half of the file, and reply 226
)

// A Server is a running server.
type Server struct {
	// Addr is its address, host:port.
	Addr string

	tree     fs.FS
	opts     Options
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	log    []string
	fault  Fault
	conns  map[net.Conn]bool
	closed bool
	logins int
}

// Start serves tree until the test ends.
func Start(t testing.TB, tree fs.FS, opts Options) *Server {
	t.Helper()
	s, err := New(tree, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// New serves tree until Close.
func New(tree fs.FS, opts Options) (*Server, error) {
	l, err := net.Listen("tcp", opts.addr())
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: l.Addr().String(), tree: tree, opts: opts, listener: l, conns: make(map[net.Conn]bool)}
	s.wg.Go(s.serve)
	return s, nil
}

// addr is where the server listens: on any port that is free.
func (o *Options) addr() string { return net.JoinHostPort(cmp.Or(o.Host, "127.0.0.1"), "0") }

// Log returns the commands received so far.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Logins returns how many control connections have been logged in.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// Fault arms a fault, which strikes once.
func (s *Server) Fault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

func (s *Server) takeFault() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fault
	s.fault = None
	return f
}

func (s *Server) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		if !s.track(conn) {
			return
		}
		s.wg.Go(func() {
			defer s.forget(conn)
			s.session(conn)
		})
	}
}

// track notes a connection, so that Close can close it.
func (s *Server) track(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return false
	}
	s.conns[c] = true
	return true
}

func (s *Server) forget(c net.Conn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// HangUp closes all connections, as a server does that is tired of waiting.
func (s *Server) HangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// Close closes all connections and waits for what goes on to end.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.listener.Close()
	s.HangUp()
	s.wg.Wait()
}

func (s *Server) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, line)
}

// unknown reports whether the server is to not know a command.
func (s *Server) unknown(verb string) bool { return slices.Contains(s.opts.Unknown, verb) }

// features is the reply to FEAT.
func (s *Server) features() string {
	var b strings.Builder
	b.WriteString("211-Features:\r\n")
	for _, f := range []struct{ verb, text string }{
		{"MLSD", "MLST type*;size*;modify*;"}, {"SIZE", "SIZE"}, {"MDTM", "MDTM"}, {"REST", "REST STREAM"}, {"EPSV", "EPSV"},
	} {
		if !s.unknown(f.verb) {
			fmt.Fprintf(&b, " %s\r\n", f.text)
		}
	}
	b.WriteString("211 End")
	return b.String()
}
