// Package unsupported explains schemes that urlget knows but does not implement: what they are, and
// what to do with their URLs instead.
package unsupported

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch"
)

// Load registers all these schemes.
func Load(_ *fetch.Env, reg *fetch.Registry) {
	for _, n := range names {
		reg.Register(fetch.Scheme{Name: n.scheme, Summary: n.is, Driver: driver(n)})
	}
}

// A name is a scheme without an implementation.
type name struct {
	scheme string
	is     string // completes "NAME is …"
	hint   string // what to do with a URL; "" for the default
}

type driver name

// Open implements fetch.Driver. It always fails.
func (d driver) Open(context.Context, *fetch.Request) (*fetch.Response, error) {
	e := &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("%s is %s", d.scheme, d.is), Hint: d.hint}
	if d.hint == "" {
		e.Reason, e.Hint = fetch.Reason{Kind: fetch.ReasonNoDriver, Scheme: d.scheme}, "a gateway could serve it"
	}
	return nil, e
}

var _ fetch.Driver = driver{}
