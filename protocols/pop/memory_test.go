package pop

import (
	"testing"

	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/popd"
)

// TestListingMemory lists a maildrop with generated messages and checks the heap.
func TestListingMemory(t *testing.T) {
	const count, most = 50_000, 48 << 20
	s := popd.Start(t, popd.Options{Synthetic: count})
	fetchtest.ListingHeap(t, drive.Client(t, nil, With(Options{AllowPlaintext: true})), "pop://joe:x@"+s.Addr, count, most)
}
