// Package dictd is a dictionary server (RFC 2229) for tests, with one
// database, "tree". It doubles the dots at the beginning of lines, and can fail
// on request.
package dictd

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// A Fault is a way to fail.
type Fault uint8

// The faults.
const (
	None  Fault = iota
	Cut         // close the connection in mid-definition
	Stall       // fall silent in mid-definition
	Noise       // send octets that are no reply
)

// A Server is a running server.
type Server struct {
	Addr string // host:port

	define func(word string) (string, bool)
	quit   chan struct{}

	mu    sync.Mutex
	lines []string
	fault Fault
}

// Start runs a server until the test ends. Define returns the definition of a
// word, and false if there is none.
func Start(t testing.TB, define func(word string) (string, bool)) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String(), define: define, quit: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				s.serve(c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); close(s.quit); wg.Wait() })
	return s
}

// Log returns the lines received so far.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...)
}

// Arm makes the next definition fail.
func (s *Server) Arm(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

func (s *Server) strike() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fault
	s.fault = None
	return f
}

func (s *Server) serve(c net.Conn) {
	fmt.Fprint(c, "220 test <auth.mime> <1.2@test>\r\n")
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		s.mu.Lock()
		s.lines = append(s.lines, line)
		s.mu.Unlock()
		switch verb, rest, _ := strings.Cut(line, " "); verb {
		case "CLIENT":
			fmt.Fprint(c, "250 ok\r\n")
		case "DEFINE":
			if !s.answer(c, rest) {
				return
			}
		case "QUIT":
			fmt.Fprint(c, "221 bye\r\n")
			return
		default:
			fmt.Fprint(c, "500 what\r\n")
		}
	}
}

// answer answers a DEFINE, and reports whether the connection lives.
func (s *Server) answer(c net.Conn, args string) bool {
	_, word, _ := strings.Cut(args, " ")
	word = strings.TrimSuffix(strings.TrimPrefix(word, `"`), `"`)
	word = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(word)
	text, ok := s.define(word)
	if !ok {
		fmt.Fprint(c, "552 no match\r\n")
		return true
	}
	fault := s.strike()
	text = strings.ReplaceAll("\n"+strings.TrimSuffix(text, "\n"), "\n.", "\n..")[1:]
	if text != "" {
		text += "\n"
	}
	text = "150 1 definitions retrieved\r\n151 \"word\" tree \"The Tree\"\r\n" + strings.ReplaceAll(text, "\n", "\r\n")
	switch fault {
	case Cut:
		io.WriteString(c, text)
		return false
	case Stall:
		io.WriteString(c, text)
		<-s.quit
		return false
	case Noise:
		io.WriteString(c, "\x00\xff\x7fnoise\r\n\x01\x02")
		return false
	}
	_, err := io.WriteString(c, text+".\r\n250 ok\r\n")
	return err == nil
}
