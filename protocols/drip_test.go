package protocols_test

import (
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchtest"
	"github.com/urlget/urlget/fetch/uri"
)

// TestEveryWaitEnds has every scheme that uses TCP, and servers that never come to an end.
func TestEveryWaitEnds(t *testing.T) {
	t.Parallel()
	all, client := sites(t)
	for name, tt := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := uri.MustParse(tt.url)
			fetchtest.RunDrips(t, fetchtest.Drips{Says: tt.says, Pieces: tt.pieces, Session: tt.session,
				Open: func(_ testing.TB, o *fetch.Options) (*fetch.Client, *fetch.Request) {
					return client(u.Scheme(), o), &fetch.Request{URL: u, Op: tt.op}
				}})
		})
	}
}
