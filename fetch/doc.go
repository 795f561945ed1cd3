// Package fetch retrieves what a URL names, whatever its scheme.
//
// A [Client] maps the scheme of a URL to a driver, applies the security [Policy], follows
// redirects and checks that streams end as their protocol says. The result is a [Response]:
// a stream with metadata, a listing with entries, or a session. All errors are of one type,
// [*Error], classified by a [Code].
//
// The package itself implements no protocol. Drivers are registered by the [Loader] functions given
// to [New]; protocols.All registers the built-in ones:
//
//	c := fetch.New(nil, protocols.All)
//	defer c.Close()
//	resp, err := c.Get(ctx, "gopher://gopher.example/0/about.txt")
//
// Most programs need only Get, List, Stat and Dial. Package driver is for adding a scheme or a
// middleware, and package fetchtest tests whether that was done right.
//
// # Compatibility
//
// From version 1.0.0 on, a program that compiles with one version of this module compiles with all
// later ones of the same major version, and what is documented remains true for it. Before that, a
// minor version may change the API; the file CHANGELOG.md says how.
//
// The promise has the same exceptions as Go's own: security holes and bugs are fixed, structs gain
// fields, so composite literals should name theirs, and types gain methods. driver.Driver does not:
// optional features of drivers are separate interfaces. Existing values of [Code] stay, and new
// ones may be added. The texts of errors, hints and log records are for people and may change at
// any time, as may the number of test cases in package fetchtest.
package fetch
