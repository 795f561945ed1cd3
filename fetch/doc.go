// Package fetch retrieves what a URL names, whatever its scheme.
//
// A [Client] maps the scheme of a URL to a [Driver], applies the security
// [Policy], follows redirects and checks that streams end as their protocol
// says. Every driver answers with one [Response]: a stream with metadata, a
// listing with entries, or a session. Errors are of one type, [*Error], with
// a [Code] for its class.
//
// The package speaks no protocol itself. The drivers are registered by the
// [Loader] functions given to [New]; protocols.All holds the built-in ones:
//
//	c := fetch.New(nil, protocols.All)
//	defer c.Close()
//	resp, err := c.Get(ctx, "gopher://gopher.example/0/about.txt")
//
// Most programs need only Get, List, Stat and Dial. Driver, Env and Registry
// are for those who add a scheme; package fetchtest tells them whether they
// did it right.
package fetch
