package fetch

import (
	"context"

	"github.com/urlget/urlget/fetch/uri"
)

// A Driver speaks the protocol of one or more schemes.
//
// Open performs one exchange, including any login. It must not follow redirects, retry, cache or
// write files; its callers do. It returns a Response if and only if the server accepted the
// operation or returned another location. If the driver does not support an Op, the error wraps
// [errors.ErrUnsupported]. If it cannot honor a Range, Open ignores it and leaves Meta.Range zero.
//
// Open must use only the [Env] passed to its Loader for the network, credentials and the log. The
// context governs the exchange until Body is closed. Open must be safe for concurrent use. It must
// not modify req, or retain it after Body is closed.
//
// Errors should be of type [*Error] with Code, Reply, Retry and Err set. The client sets Op and
// URL. It classifies errors of other types as far as it can.
type Driver interface {
	Open(ctx context.Context, req *Request) (*Response, error)
}

// The DriverFunc type is an adapter to use functions as Drivers.
type DriverFunc func(ctx context.Context, req *Request) (*Response, error)

// Open calls f(ctx, req).
func (f DriverFunc) Open(ctx context.Context, req *Request) (*Response, error) {
	return f(ctx, req)
}

// An IdleCloser is implemented by Drivers that pool connections. CloseIdleConnections closes idle
// connections. It does not affect open bodies.
type IdleCloser interface{ CloseIdleConnections() }

// An Explainer is implemented by Drivers that support dry runs. Explain returns the protocol steps
// that Open would perform for req, one per element and with secrets masked. It does not use the
// network. A driver for proxies also has a method ExplainForwarded(req *Request, proxy uri.URI), for
// requests that the proxy retrieves itself.
type Explainer interface {
	Explain(req *Request) ([]string, error)
}

type forwardExplainer interface {
	ExplainForwarded(req *Request, proxy uri.URI) ([]string, error)
}

// An Expecter is implemented by Drivers that can derive metadata from a URL. Expect returns the
// expected Kind, Name and ContentType of the response to req, an OpGet request, and Form if the URL
// names a form and has no answers. It returns false if the URL does not determine them. It does not
// use the network.
type Expecter interface {
	Expect(req *Request) (Meta, bool)
}

// An Upgrader is implemented by Drivers that know servers whose URLs are to be requested with another
// scheme (RFC 6797). Upgrade returns the URL to request instead of u. It does not use the network.
type Upgrader interface {
	Upgrade(u uri.URI) (upgraded uri.URI, ok bool)
}

// A Loader creates drivers for a client and registers them. It must not do I/O. Clients do not
// share drivers, and so do not share connections, secrets or rules.
type Loader func(env Env, reg *Registry)

// Use returns a Loader for a driver that needs no Env. The scheme has no default port, supports
// only OpGet and has no Traits.
func Use(scheme string, d Driver) Loader {
	return func(_ Env, reg *Registry) {
		reg.Register(Scheme{Name: scheme, Ops: []Op{OpGet}, Driver: d})
	}
}

// A Middleware wraps every exchange of a client: each hop of a redirect, and each URL that a driver
// opens with Env.Open.
type Middleware func(next Driver) Driver
