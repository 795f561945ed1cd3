package fetch

import (
	"fmt"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

// TestProxyLoginsAreBounded checks that the oldest refusals are forgotten.
func TestProxyLoginsAreBounded(t *testing.T) {
	t.Parallel()
	e := &env{client: New(nil)}
	proxy := func(i int) uri.URI { return uri.MustParse(fmt.Sprintf("http://u:p@proxy%d/", i)) }
	for i := range maxProxyLogins + 1 {
		e.noteLogin(proxy(i), ErrAuth)
	}
	known := e.client.refusedLogins
	if known.Has(proxy(0).String()) || !known.Has(proxy(1).String()) || !known.Has(proxy(maxProxyLogins).String()) {
		t.Error("other logins than the last ones are known")
	}
}
