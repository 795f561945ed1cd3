//go:build linux

package bench

import (
	"testing"

	"github.com/urlget/urlget/bench/server"
)

// startVsftpd starts vsftpd for anonymous users of root on the address host. It returns its address
// on the host seenAs.
func startVsftpd(b *testing.B, root, host, seenAs string) string {
	b.Helper()
	address, stop, err := server.Vsftpd(b.TempDir(), server.Place{Root: root, Host: host, SeenAs: seenAs})
	stopAtEnd(b, stop, err)
	return address
}
