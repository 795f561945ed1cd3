package driver

import (
	"context"
	"net/textproto"

	"github.com/urlget/urlget/fetch/internal/exchange"
)

// A Variant describes who sends a request, and which of several responses it selects, for caches.
type Variant = exchange.Variant

// NewVariant returns the variant of a request with a header. Login has the canonical names of the fields
// that identify the user.
func NewVariant(header textproto.MIMEHeader, login []string) *Variant {
	return exchange.NewVariant(header, login)
}

// A Varier is implemented by Drivers whose responses may be cached (RFC 9111). Variant returns the
// variant of the first request that Open would send for req. If login is set and Open would send no
// login before a challenge, it is the variant of the request after a challenge, if there is a
// credential. It does not use the network.
type Varier interface {
	Variant(ctx context.Context, req *Request, login bool) (*Variant, error)
}
