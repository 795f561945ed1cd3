// Package inert answers for schemes that urlget knows by name but has no
// protocol for: what they are, and what can be done with their URLs instead.
package inert

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch"
)

// Load registers all names.
func Load(_ *fetch.Env, reg *fetch.Registry) {
	for _, n := range names {
		reg.Register(fetch.Scheme{Name: n.scheme, Summary: n.is, Driver: driver(n)})
	}
}

// A name is what is known of a scheme.
type name struct {
	scheme string
	is     string // what the scheme is, in a line
	hint   string // what can be done; "" for what holds for all
}

type driver name

// Open implements fetch.Driver. It always fails.
func (d driver) Open(context.Context, *fetch.Request) (*fetch.Response, error) {
	hint := d.hint
	if hint == "" {
		hint = "if a gateway serves it: --gateway " + d.scheme + "=URL"
	}
	return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("%s is %s", d.scheme, d.is), Hint: hint}
}

var _ fetch.Driver = driver{}
