package protocols_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// TestReadAfterClose checks that a Read after Close does not return a network failure, which would be
// retried.
func TestReadAfterClose(t *testing.T) {
	t.Parallel()
	all, client := sites(t)
	for name, site := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := uri.MustParse(site.url)
			c := client(u.Scheme(), &fetch.Options{})
			defer c.Close()
			op := site.op
			if site.session {
				op = fetch.OpDial
			}
			resp, err := c.Do(t.Context(), &fetch.Request{URL: u, Op: op})
			if err != nil {
				if code := fetch.CodeOf(err); code != fetch.ErrNotFound && code != fetch.ErrAuth && code != fetch.ErrRefused {
					t.Error(err)
				}
				return // there is nothing to read
			}
			resp.Body.Close()
			_, err = io.ReadAll(resp.Body)
			var e *fetch.Error
			if op == fetch.OpStat && err == nil {
				return // there is nothing to read
			}
			if !errors.As(err, &e) || e.Code != fetch.ErrInterrupted || e.Retry || !errors.Is(err, net.ErrClosed) {
				t.Errorf("%v (%+v)", err, e)
			}
		})
	}
}
