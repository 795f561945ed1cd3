package fetch

import (
	"context"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// Traits are properties of a scheme that packages above the drivers act on.
type Traits = driver.Traits

// Traits returns the traits of the scheme of u, or the zero value if it has no driver.
func (c *Client) Traits(u uri.URI) Traits {
	s, _ := c.registry.Lookup(u.Scheme())
	return s.Traits
}

// TraitsOf returns the traits of the scheme of an exchange. Ctx is the context of the exchange, as
// passed to a Recorder or a driver.
func TraitsOf(ctx context.Context) Traits { return provenanceOf(ctx).traits }
