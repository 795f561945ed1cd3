package fetch

import "context"

// A Driver speaks the protocol of one or more schemes.
//
// Open performs one exchange, including the login it needs. It must not
// follow redirects, retry, cache or write files; others do. It returns a
// Response if and only if the server granted the operation or named another
// place. An Op it does not know gets an error wrapping
// [errors.ErrUnsupported]; a Range it cannot honor is ignored and Meta.Range
// left zero.
//
// Open must reach the network, secrets and the log only through the [Env]
// given to its Loader. The context bounds the exchange until Body is closed.
// Many goroutines call Open at once. Open must not modify req or keep it
// after Body is closed.
//
// Errors should be of type [*Error] with Code, Reply, Retry and Err set; the
// client fills in Op and URL, and classifies errors of other types as well as
// it can.
type Driver interface {
	Open(ctx context.Context, req *Request) (*Response, error)
}

// A DriverFunc is a function that serves as a Driver.
type DriverFunc func(ctx context.Context, req *Request) (*Response, error)

// Open calls f.
func (f DriverFunc) Open(ctx context.Context, req *Request) (*Response, error) {
	return f(ctx, req)
}

// An IdleCloser is a Driver that keeps connections. CloseIdleConnections
// closes those not in use; it does not disturb open bodies.
type IdleCloser interface{ CloseIdleConnections() }

// An Explainer is a Driver that can tell what it would do. Explain returns
// the protocol steps Open would take for req, one a line, secrets masked,
// without taking them. It must not touch the network.
type Explainer interface {
	Explain(req *Request) ([]string, error)
}

// A Loader builds drivers for one client and registers them. It must not do
// I/O. Two clients never share a driver, so they never share connections,
// secrets or rules.
type Loader func(env *Env, reg *Registry)

// Use returns a Loader for one driver that needs no Env. The scheme has no
// default port and is taken to support OpGet.
func Use(scheme string, d Driver) Loader {
	return func(_ *Env, reg *Registry) {
		reg.Register(Scheme{Name: scheme, Ops: []Op{OpGet}, Driver: d})
	}
}

// A Middleware wraps every exchange of a client: each hop of a redirect and
// each URL that a driver opens by Env.Open passes through it.
type Middleware func(next Driver) Driver
