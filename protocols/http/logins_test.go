package http

import (
	"fmt"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

// TestLoginsAreBounded checks that a server with many realms cannot fill the cache.
func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	var s logins
	u := uri.MustParse("http://h/")
	for i := range 10 * maxLogins {
		s.keep(u, &login{user: "me", realm: fmt.Sprint(i)})
	}
	if n := len(s.by[u.Origin()]); n != maxLogins {
		t.Errorf("%d realms are remembered", n)
	}
}
