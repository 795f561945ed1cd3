// Package errcode makes the errors of drivers that have a code and a text, and nothing else.
package errcode

import (
	"fmt"

	"github.com/urlget/urlget/fetch"
)

// Errorf returns an error with the given code. Its cause is the one of fmt.Errorf.
func Errorf(code fetch.Code, format string, args ...any) *fetch.Error {
	return &fetch.Error{Code: code, Err: fmt.Errorf(format, args...)}
}
