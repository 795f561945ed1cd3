package servers

import "net"

// TB has the methods of testing.TB that Start needs. It is not testing.TB itself, so that programs
// that start servers do not link package testing.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start starts a server and closes it when the test ends. It calls handle in a new goroutine for
// each connection, and closes the connection when handle returns.
func Start(t TB, cfg Config, handle func(*Conn)) *Server {
	t.Helper()
	return Bind(t, func(cfg Config) (*Server, error) { return New(cfg, handle) }, cfg)
}

// New starts a server. The caller must call Close.
func New(cfg Config, handle func(*Conn)) (*Server, error) {
	s, err := Listen(cfg)
	if err != nil {
		return nil, err
	}
	s.Serve(handle)
	return s, nil
}

// Bind calls start and closes the server when the test ends. It turns a New function into a Start
// function.
func Bind[S interface{ Close() }, O any](t TB, start func(O) (S, error), opts O) S {
	t.Helper()
	s, err := start(opts)
	if err != nil {
		t.Fatalf("starting a server: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Pair returns the two ends of a TCP connection. They are closed when the test ends.
func Pair(t TB) (client, server *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	s, err := l.Accept()
	if err != nil {
		t.Fatalf("accepting: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return c.(*net.TCPConn), s.(*net.TCPConn)
}
