// Package unsupported explains schemes that urlget knows but does not implement, and suggests
// alternatives.
package unsupported

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch"
)

// Load registers these schemes.
func Load(_ fetch.Env, reg *fetch.Registry) {
	for _, n := range names {
		reg.Register(fetch.Scheme{Name: n.scheme, Summary: n.is, Driver: opener(n)})
	}
}

// A name is a scheme without an implementation.
type name struct {
	scheme string
	is     string // completes "NAME is …"
	hint   string // suggests an alternative; "" for the default
}

type opener name

// Open implements fetch.Driver. It always fails.
func (d opener) Open(context.Context, *fetch.Request) (*fetch.Response, error) {
	e := &fetch.Error{Code: fetch.ErrNotRetrievable,
		Err: fmt.Errorf("%s is %s", d.scheme, d.is), Hint: d.hint}
	if d.hint == "" {
		e.Reason = fetch.Reason{Kind: fetch.ReasonNoDriver, Scheme: d.scheme}
		e.Hint = "a gateway could serve it"
	}
	return nil, e
}
