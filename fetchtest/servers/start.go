package servers

// TB is what Start needs of a test, which *testing.T, *testing.B and *testing.F have. It is not
// testing.TB, so that programs that start servers do not link package testing.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start starts a server until the test ends. Each connection is given to handle in a goroutine of
// its own, and closed when that returns.
func Start(t TB, cfg Config, handle func(*Conn)) *Server {
	t.Helper()
	return Bind(t, func(cfg Config) (*Server, error) { return New(cfg, handle) }, cfg)
}

// New starts a server until Close.
func New(cfg Config, handle func(*Conn)) (*Server, error) {
	s, err := Listen(cfg)
	if err != nil {
		return nil, err
	}
	s.Serve(handle)
	return s, nil
}

// Bind makes a Start of a New: it closes what start started when the test ends.
func Bind[S interface{ Close() }, O any](t TB, start func(O) (S, error), opts O) S {
	t.Helper()
	s, err := start(opts)
	if err != nil {
		t.Fatalf("starting a server: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}
