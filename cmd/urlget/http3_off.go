//go:build !http3

package main

import (
	"net/http"

	"github.com/urlget/urlget/fetch"
)

// overHTTP3 is nil, so that there is no --http3: what it needs makes the command 1.4 MB larger.
var overHTTP3 func(*fetch.Env, http.RoundTripper) http.RoundTripper
