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

// A Config configures a server.
type Config struct {
	// Scheme is the scheme of the server's URL.
	Scheme string
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
	// Public is the address in the server's URL, as host:port. "" means the address it listens on.
	Public string
	// TLS, if not nil, starts TLS on each connection.
	TLS *tls.Config
	// Cannot lists the faults that the protocol does not support.
	Cannot []Fault
}

// A Server is a running server.
type Server struct {
	// Addr is the address for clients, as host:port.
	Addr string
	// URL is the scheme and the address, without a slash at the end.
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

// Listen returns a server that listens for connections. Serve accepts them.
func Listen(cfg Config) (*Server, error) {
	l, err := net.Listen("tcp", cmp.Or(cfg.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	return newServer(cfg, l.Addr(), l, nil), nil
}

// ListenPacket returns a server that listens for datagrams. ServePackets handles them.
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

// Serve starts to accept connections. It calls handle in a new goroutine for each, and closes the
// connection when handle returns.
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

// ServePackets calls handle in a new goroutine. The function must return when ReadFrom fails.
func (s *Server) ServePackets(handle func(*Packets)) {
	s.wg.Go(func() { handle(&Packets{PacketConn: s.packets, s: s}) })
}

// Close closes the server with all its connections, and waits until its goroutines have ended.
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

// CloseClientConnections closes all open connections, as a server with an idle timeout does.
func (s *Server) CloseClientConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.Close()
	}
}

// track adds c to the connections that Close closes. If the server is closed, it closes c and
// returns false.
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

// forget removes c from the tracked connections and closes it.
func (s *Server) forget(c io.Closer) error {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	return c.Close()
}

// Accepted returns the number of connections accepted so far.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Log returns the commands or requests received so far, one per element, without line ends.
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

// Fail makes the next reply with content fail. It is Arm with only a fault.
func (s *Server) Fail(f Fault) { s.Arm(Failure{Fault: f}) }

// Arm makes replies fail. It replaces an earlier Failure; the zero Failure disarms. Arm panics if
// the protocol does not support the fault.
func (s *Server) Arm(f Failure) {
	if slices.Contains(s.cfg.Cannot, f.Fault) {
		panic(fmt.Sprintf("servers: no %v in %s", f.Fault, s.cfg.Scheme))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = f
}

// Can reports whether the protocol supports the fault.
func (s *Server) Can(f Fault) bool { return !slices.Contains(s.cfg.Cannot, f) }

// Struck returns the number of replies that have failed.
func (s *Server) Struck() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.struck
}

// take returns the armed failure for the reply to command and counts it. It returns the zero
// Failure if none applies.
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

// Packets is the socket of a UDP server.
type Packets struct {
	net.PacketConn
	s *Server
}

// Note adds a command to the log.
func (p *Packets) Note(command string) { p.s.note(command) }

// Take returns the armed failure for the reply to command and counts it. It returns the zero
// Failure if none applies. The server must apply the failure itself.
func (p *Packets) Take(command string, content bool) Failure { return p.s.take(command, content) }

// Done returns a channel that is closed when the server is closed.
func (p *Packets) Done() <-chan struct{} { return p.s.done }
