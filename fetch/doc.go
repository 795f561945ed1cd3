// Package fetch retrieves the resource at a URL of any scheme.
//
// A [Client] chooses a driver by the scheme of the URL, applies the security [Policy], follows
// redirects and checks that each body is complete. The result is a [Response]: a body with
// metadata, a listing with entries, or a session. All errors of a Client have the type [*Error] and
// are classified by a [Code].
//
// Package fetch implements no protocols itself. The [Loader] functions passed to [New] register
// drivers; protocols.All registers the built-in ones:
//
//	c := fetch.New(nil, protocols.All)
//	defer c.Close()
//	resp, err := c.Get(ctx, "gopher://gopher.example/0/about.txt")
//
// Most programs need only Get, List, Stat and Dial. A [Driver] adds a scheme. Its
// [Loader] registers it in a [Registry], and gets the [Env], the driver's only way to the network, to
// credentials and to the log. Package driver is a kit for drivers, and package fetchtest has a test
// suite for them.
//
// # Compatibility
//
// From version 1.0.0 on, a program that compiles with one version of this module compiles with all
// later versions of the same major version, and documented behavior does not change. Before 1.0.0,
// a minor version may change the API. CHANGELOG.md lists such changes.
//
// The exceptions are those of Go itself: security holes and bugs are fixed, structs may gain fields
// (so composite literals should name theirs), and types may gain methods. The interface
// [Driver] does not gain methods: optional features of drivers are separate interfaces. Values of
// [Code] are not removed, but new ones may be added. The texts of errors, hints and log records
// are for people and may change at any time, as may the number of test cases in package fetchtest.
package fetch
