package servers

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
)

// A Config says where a server listens.
type Config struct {
	// Scheme is that of the server's URL.
	Scheme string
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
	// Public is the address that clients are told, host:port; "" means the one that is listened on.
	Public string
	// TLS begins TLS with each connection; nil means in clear.
	TLS *tls.Config
	// Cannot are the faults for which the protocol has no place.
	Cannot []Fault
}

// A Server is a running server.
type Server struct {
	// Addr is the address that clients are told, host:port.
	Addr string
	// URL is the address with the scheme, without a slash at the end.
	URL string

	cfg      Config
	listener net.Listener
	packets  net.PacketConn
	done     chan struct{} // closed by Close
	wg       sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	open     map[io.Closer]bool
	accepted int
	log      []string
	failure  Failure
	struck   int
}

// Listen listens for connections, which wait for Serve.
func Listen(cfg Config) (*Server, error) {
	l, err := net.Listen("tcp", cmp.Or(cfg.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	return newServer(cfg, l.Addr(), l, nil), nil
}

// ListenPacket listens for datagrams, which wait for ServePackets.
func ListenPacket(cfg Config) (*Server, error) {
	p, err := net.ListenPacket("udp", cmp.Or(cfg.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	return newServer(cfg, p.LocalAddr(), nil, p), nil
}

func newServer(cfg Config, addr net.Addr, l net.Listener, p net.PacketConn) *Server {
	s := &Server{Addr: cmp.Or(cfg.Public, addr.String()), cfg: cfg, listener: l, packets: p,
		done: make(chan struct{}), open: make(map[io.Closer]bool)}
	s.URL = cfg.Scheme + "://" + s.Addr
	return s
}

// Serve begins to accept connections. Each is given to handle in a goroutine of its own, and closed
// when that returns.
func (s *Server) Serve(handle func(*Conn)) {
	s.wg.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			if !s.track(conn) {
				return
			}
			s.mu.Lock()
			s.accepted++
			s.mu.Unlock()
			s.wg.Go(func() {
				c := newConn(s, conn)
				defer c.Close()
				handle(c)
			})
		}
	})
}

// ServePackets runs handle in a goroutine of its own. It must return when ReadFrom fails.
func (s *Server) ServePackets(handle func(*Packets)) {
	s.wg.Go(func() { handle(&Packets{PacketConn: s.packets, s: s}) })
}

// Close closes all connections and waits until nothing of the server runs any more.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	s.mu.Unlock()
	if s.listener != nil {
		s.listener.Close()
	}
	if s.packets != nil {
		s.packets.Close()
	}
	s.CloseClientConnections()
	s.wg.Wait()
}

// CloseClientConnections closes all connections that are open now, as a server does that is tired
// of waiting.
func (s *Server) CloseClientConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.Close()
	}
}

// track notes what Close is to close. It reports false, and closes it, if the server is closed.
func (s *Server) track(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return false
	}
	s.open[c] = true
	return true
}

// forget closes what was tracked.
func (s *Server) forget(c io.Closer) error {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	return c.Close()
}

// Accepted returns how many connections have been made.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Log returns the commands or requests received so far, one an element, without line ends.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *Server) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, line)
}

// Fail makes the next reply that has a content fail. It is Arm with nothing but the fault.
func (s *Server) Fail(f Fault) { s.Arm(Failure{Fault: f}) }

// Arm makes replies fail. It takes the place of what was armed before; the zero Failure ends it. It
// panics if the protocol has no place for the fault.
func (s *Server) Arm(f Failure) {
	if slices.Contains(s.cfg.Cannot, f.Fault) {
		panic(fmt.Sprintf("servers: no %v in %s", f.Fault, s.cfg.Scheme))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = f
}

// Can reports whether the protocol has a place for the fault.
func (s *Server) Can(f Fault) bool { return !slices.Contains(s.cfg.Cannot, f) }

// Struck returns how many replies have failed.
func (s *Server) Struck() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.struck
}

// take returns the failure that holds for the reply to command, or the zero Failure, and counts it
// as one that has struck.
func (s *Server) take(command string, content bool) Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, on := s.failure, s.failure.On
	if on == "" && !content || len(command) < len(on) || !strings.EqualFold(command[:len(on)], on) {
		return Failure{}
	}
	if f.Fault == None {
		return f
	}
	s.struck++
	if s.failure.Times >= 0 {
		if s.failure.Times--; s.failure.Times <= 0 {
			s.failure = Failure{}
		}
	}
	return f
}

// Packets is the socket of a server of datagrams.
type Packets struct {
	net.PacketConn
	s *Server
}

// Note puts a command into the log.
func (p *Packets) Note(command string) { p.s.note(command) }

// Take takes the failure that is armed for the reply to command: what it is to do is up to the
// server. It is the zero Failure if there is none.
func (p *Packets) Take(command string, content bool) Failure { return p.s.take(command, content) }

// Done returns a channel that is closed when the server is.
func (p *Packets) Done() <-chan struct{} { return p.s.done }
