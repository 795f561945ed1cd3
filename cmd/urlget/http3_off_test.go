//go:build !http3

package main

import (
	"errors"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
)

func addHTTP3(*testscript.TestScript, *httptest.Server) error {
	return errors.New("only tests with the tag http3 have a server of HTTP/3")
}
