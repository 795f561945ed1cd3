// Package driver is for authors of drivers: it defines what a driver implements and what a client
// gives it. It stands below package fetch as database/sql/driver stands below database/sql. Programs
// that only retrieve URLs need package fetch alone, which shares the types that concern them.
//
// A driver is a [Driver]: its Open speaks the protocol for one [Request] and returns a [Response] or
// an [*Error]. A [Loader] creates it for a client and registers it in a [Registry] as a [Scheme]. The
// driver reaches the network, secrets and the log only through the [Env] that its Loader gets. Dial
// returns a [*Conn], which enforces timeouts, ends with its context and records the conversation.
//
// The rest of the package helps: [Pool] keeps connections, [Ask] is for protocols with a connection
// per request, [NewListing] makes listings from entries, and [SafeName] and [TypeByName] serve
// protocols that give file names but no media types. Package wire reads and writes lines. Package
// fetchtest tests drivers.
package driver
