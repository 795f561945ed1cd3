package driver

import "context"

// A Driver speaks the protocol of one or more schemes.
//
// Open performs one exchange, including any login. It must not follow redirects, retry, cache or
// write files; its callers do. It returns a Response if and only if the server granted the
// operation or named another location. For an Op that it does not support the error wraps
// [errors.ErrUnsupported]; a Range that it cannot honor is ignored, leaving Meta.Range zero.
//
// Open must reach the network, secrets and the log only through the [Env] given to its Loader. The
// context governs the exchange until Body is closed. Open is called concurrently. It must not
// modify req, or retain it after Body is closed.
//
// Errors should be of type [*Error] with Code, Reply, Retry and Err set; the client fills in Op and
// URL, and classifies other errors as well as it can.
type Driver interface {
	Open(ctx context.Context, req *Request) (*Response, error)
}

// A DriverFunc is a function that implements Driver.
type DriverFunc func(ctx context.Context, req *Request) (*Response, error)

// Open calls f.
func (f DriverFunc) Open(ctx context.Context, req *Request) (*Response, error) {
	return f(ctx, req)
}

// An IdleCloser is a Driver that pools connections. CloseIdleConnections closes those that are not
// in use, without affecting open bodies.
type IdleCloser interface{ CloseIdleConnections() }

// An Explainer is a Driver that supports dry runs. Explain returns the protocol steps that Open
// would take for req, one per line and with secrets masked, without using the network.
type Explainer interface {
	Explain(req *Request) ([]string, error)
}

// An Expecter is a Driver that can tell from a URL what it names. Expect returns the Kind, the Name
// and the ContentType that the response to req, which is for content, will have if all goes well,
// and Form if the URL names a form without answers. It returns false if the URL does not tell, and
// does not use the network.
type Expecter interface {
	Expect(req *Request) (Meta, bool)
}

// A Loader creates drivers for a client and registers them. It must not do I/O. Clients never share
// drivers, and so never share connections, secrets or rules.
type Loader func(env Env, reg *Registry)

// Use returns a Loader for a single driver that needs no Env. The scheme has no default port and
// supports only OpGet, and has no Traits.
func Use(scheme string, d Driver) Loader {
	return func(_ Env, reg *Registry) {
		reg.Register(Scheme{Name: scheme, Ops: []Op{OpGet}, Driver: d})
	}
}

// A Middleware wraps every exchange of a client: each hop of a redirect and each URL that a driver
// opens with Env.Open passes through it.
type Middleware func(next Driver) Driver
