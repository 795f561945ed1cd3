// Package driver is a kit for authors of drivers, which implement [fetch.Driver]. Programs that only
// retrieve URLs do not need it.
//
// [Pool] keeps idle connections. [Ask] is for protocols with one connection per request. [SetParts] makes
// listings from entries, and [FactsOf] the facts of an entry. Package wire reads and writes lines. Package
// fetchtest tests drivers.
package driver
