// Package driver is for authors of drivers: it defines the interfaces between a driver and its
// client. It is below package fetch as database/sql/driver is below database/sql. Programs that
// only retrieve URLs need only package fetch, which shares the types that concern them.
//
// A driver implements [Driver]: its Open performs one [Request] and returns a [Response] or an
// [*Error]. A [Loader] creates the driver for a client and registers it in a [Registry] as a
// [Scheme]. A driver gets network connections, credentials and the logger only from the [Env]
// passed to its Loader. Env.Dial returns a [*Conn], which enforces timeouts, ends with its context
// and records the conversation.
//
// The rest of the package is a kit for drivers. [Pool] keeps idle connections. [Ask] is for
// protocols with one connection per request. [Response.SetParts] makes listings from entries.
// [SafeName] and [TypeByName] are for protocols with file names and without media types. Package
// wire reads and writes lines. Package fetchtest tests drivers.
package driver
