package protocols_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
)

// TestRetrievalsOverAFailingNetwork injects a failure into each network operation of retrievals, for
// every scheme over TCP. Some schemes have further tests of their own.
func TestRetrievalsOverAFailingNetwork(t *testing.T) {
	t.Parallel()
	all, client := sites(t)
	for name, tt := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := uri.MustParse(tt.url)
			fetchtest.RunFailures(t, fetchtest.Failures{Unframed: tt.unframed, Codes: append(tt.codes, fetch.ErrTLS),
				Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
					c := client(u.Scheme(), o)
					defer c.Close()
					return retrieve(t, c, &fetch.Request{URL: u, Op: tt.op}, tt.session)
				}})
		})
	}
}

// retrieve returns the content of a resource, the lines of a listing, or the output of a session.
func retrieve(t testing.TB, c *fetch.Client, req *fetch.Request, session bool) ([]byte, error) {
	if session {
		s, err := c.Dial(t.Context(), req.URL.String())
		if err != nil {
			return nil, err
		}
		defer s.Close()
		return io.ReadAll(s)
	}
	resp, err := c.Do(t.Context(), req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if req.Op != fetch.OpList {
		return io.ReadAll(resp.Body)
	}
	var lines strings.Builder
	for e, err := range resp.Entries {
		if err != nil {
			return []byte(lines.String()), err
		}
		fmt.Fprintln(&lines, e.Kind, e.Name, e.URL)
	}
	return []byte(lines.String()), nil
}
