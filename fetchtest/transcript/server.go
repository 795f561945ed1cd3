package transcript

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server plays the server's side of a conversation on a loopback address, which it returns as
// host:port. If the client deviates or makes too many connections, the test fails with a diff. It
// also fails if steps of the client are missing when the test ends. Tests should close their client
// before that.
func Server(t testing.TB, conv *Conversation) (addr string) {
	t.Helper()
	s := newServer(t, conv)
	t.Cleanup(s.close)
	return s.start()
}

// Play is Server for a conversation in a string.
func Play(t testing.TB, script string) (addr string) {
	t.Helper()
	conv, err := Parse(t.Name(), []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return Server(t, conv)
}

// Lenient is Server for a client whose connections fail. It reports no errors. Stop ends the
// conversation.
func Lenient(t testing.TB, conv *Conversation) (addr string, stop func()) {
	t.Helper()
	s := newServer(t, conv)
	s.lenient = true
	return s.start(), s.close
}

func newServer(t testing.TB, conv *Conversation) *server {
	return &server{t: t, conv: conv, ports: map[string]string{}, played: map[string]chan struct{}{},
		awaited: map[*net.TCPListener]int{}, patience: missingTimeout}
}

// start starts the server and returns its address.
func (s *server) start() (addr string) {
	s.t.Helper()
	conv := s.conv
	main := s.listen()
	s.ports[""] = port(main)
	own := map[*script]*net.TCPListener{}
	for _, sc := range conv.scripts {
		s.played[sc.name] = make(chan struct{})
		if sc.ownPort {
			own[sc] = s.listen()
			s.ports[sc.name] = port(own[sc])
		}
	}
	s.wg.Go(func() { s.accept(main, conv.main()) })
	for sc, l := range own {
		s.wg.Go(func() { s.accept(l, []*script{sc}) })
	}
	return main.Addr().String()
}

type server struct {
	t       testing.TB
	conv    *Conversation
	lenient bool
	// patience is the wait for missing connections when the test ends.
	patience time.Duration
	ports    map[string]string        // maps scripts to ports; "" is the server's
	played   map[string]chan struct{} // by script, closed when it has been played
	wg       sync.WaitGroup

	mu      sync.Mutex
	awaited map[*net.TCPListener]int // expected number of further connections
	players []*player
	ended   bool
}

func (s *server) listen() *net.TCPListener {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	return l.(*net.TCPListener)
}

// accept plays the scripts on the connections to l, and reports further connections.
func (s *server) accept(l *net.TCPListener, scripts []*script) {
	defer l.Close()
	for i := 0; ; i++ {
		s.expectConns(l, len(scripts)-i)
		conn, err := l.Accept()
		switch {
		case err != nil:
			for ; i < len(scripts); i++ {
				s.errorf("%s: the client made no connection for %q: %v", s.conv.name, scripts[i].name, err)
				close(s.played[scripts[i].name])
			}
			return
		case i >= len(scripts):
			s.errorf("%s: the client made one connection too many to the port of %q", s.conv.name,
				scripts[0].name)
			conn.Close()
		default:
			s.wg.Go(func() { s.serve(conn, scripts[i]) })
		}
	}
}

// expectConns sets the number of further connections to l.
func (s *server) expectConns(l *net.TCPListener, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaited[l] = n
	if s.ended {
		s.endAccept(l, n)
	}
}

// errorf reports an error of the client.
func (s *server) errorf(format string, args ...any) {
	if !s.lenient {
		s.t.Errorf(format, args...)
	}
}

// endAccept stops waiting for connections. It waits a short time for expected ones, which may be on
// their way.
func (s *server) endAccept(l *net.TCPListener, n int) {
	if n > 0 && !s.lenient {
		l.SetDeadline(time.Now().Add(s.patience))
	} else {
		l.SetDeadline(time.Now())
	}
}

func (s *server) serve(conn net.Conn, sc *script) {
	done := sync.OnceFunc(func() { close(s.played[sc.name]) })
	defer done()
	p := &player{conv: s.conv, script: sc, conn: conn, r: bufio.NewReader(conn),
		vars: s.variable, wait: s.await, done: done}
	s.mu.Lock()
	s.players = append(s.players, p)
	if s.ended {
		s.end(p)
	}
	s.mu.Unlock()
	if d := p.play(); d != nil {
		s.errorf("%s", p.diff(d))
	}
}

// await waits until a script has been played.
func (s *server) await(name string) { <-s.played[name] }

func (s *server) variable(name, script string) string { return render(name, s.ports[script]) }

// render returns the value of a variable for a port or for the loopback host.
func render(name, port string) string {
	switch name {
	case "HOST":
		return "127.0.0.1"
	case "EPSV":
		return "|||" + port + "|"
	case "PASV":
		n, _ := strconv.Atoi(port)
		return fmt.Sprintf("127,0,0,1,%d,%d", n>>8, n&255)
	}
	return port
}

// close ends the conversation and waits for its goroutines.
func (s *server) close() {
	s.mu.Lock()
	s.ended = true
	for l, n := range s.awaited {
		s.endAccept(l, n)
	}
	for _, p := range s.players {
		s.end(p)
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// end reports the end of the test to a player.
func (s *server) end(p *player) {
	if s.lenient {
		p.conn.Close()
	} else {
		p.end()
	}
}

func port(l net.Listener) string {
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	return port
}
