// Package unsupported explains schemes that urlget knows but does not implement, and suggests
// alternatives.
package unsupported

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch/driver"
)

// Load registers these schemes.
func Load(_ driver.Env, reg *driver.Registry) {
	for _, n := range names {
		reg.Register(driver.Scheme{Name: n.scheme, Summary: n.is, Driver: opener(n)})
	}
}

// A name is a scheme without an implementation.
type name struct {
	scheme string
	is     string // completes "NAME is …"
	hint   string // suggests an alternative; "" for the default
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
