package imap

import (
	"testing"

	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
)

// TestListingMemory lists a mailbox with generated messages and checks the heap.
func TestListingMemory(t *testing.T) {
	const count, most = 50_000, 32 << 20
	s := imapd.Start(t, imapd.Options{Synthetic: count})
	fetchtest.ListingHeap(t, drive.Client(t, nil, With(Options{AllowPlaintext: true})), "imap://joe:x@"+s.Addr+"/synthetic", count, most)
}
