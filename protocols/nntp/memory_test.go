package nntp

import (
	"testing"

	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
)

// TestListingMemory lists a group with generated articles and checks the heap.
func TestListingMemory(t *testing.T) {
	const articles, most = 100_000, 48 << 20
	s := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "big", Synthetic: articles}}})
	last := fetchtest.ListingHeap(t, drive.Client(t, nil, With(Options{Server: s.Addr})), "news:big", articles, most)
	if last.Sys.(Overview).Number != articles {
		t.Errorf("the last is %+v", last)
	}
}
