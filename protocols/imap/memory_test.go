package imap

import (
	"testing"

	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
)

// TestListingMemory lists a mailbox whose lines the server makes when they are asked for.
func TestListingMemory(t *testing.T) {
	const count, most = 50_000, 32 << 20
	s := imapd.Start(t, imapd.Options{Synthetic: count})
	fetchtest.ListingHeap(t, drive.Client(t, nil, With(Options{AllowPlaintext: true})), "imap://joe:x@"+s.Addr+"/synthetic", count, most)
}
