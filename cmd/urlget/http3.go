//go:build http3

package main

import "github.com/urlget/urlget/protocols/http/http3"

// overHTTP3 is behind --http3.
var overHTTP3 = http3.Over
