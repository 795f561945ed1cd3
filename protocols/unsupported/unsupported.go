// Package unsupported explains schemes that urlget knows but does not implement: what they are, and
// what to do with their URLs instead.
package unsupported

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch/driver"
)

// Load registers all these schemes.
func Load(_ driver.Env, reg *driver.Registry) {
	for _, n := range names {
		reg.Register(driver.Scheme{Name: n.scheme, Summary: n.is, Driver: opener(n)})
	}
}

// A name is a scheme without an implementation.
type name struct {
	scheme string
	is     string // completes "NAME is …"
	hint   string // what to do with a URL; "" for the default
}

type opener name

// Open implements driver.Driver. It always fails.
func (d opener) Open(context.Context, *driver.Request) (*driver.Response, error) {
	e := &driver.Error{Code: driver.ErrNotRetrievable, Err: fmt.Errorf("%s is %s", d.scheme, d.is), Hint: d.hint}
	if d.hint == "" {
		e.Reason, e.Hint = driver.Reason{Kind: driver.ReasonNoDriver, Scheme: d.scheme}, "a gateway could serve it"
	}
	return nil, e
}

var _ driver.Driver = opener{}
