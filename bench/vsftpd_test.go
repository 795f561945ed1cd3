//go:build linux

package bench

import (
	"testing"

	"github.com/urlget/urlget/bench/server"
)

// startVsftpd starts vsftpd for anonymous users of root, and returns the address at which it is
// found on the host seenAs, which leads to the address host.
func startVsftpd(b *testing.B, root, host, seenAs string) string {
	b.Helper()
	address, stop, err := server.Vsftpd(b.TempDir(), server.Place{Root: root, Host: host, SeenAs: seenAs})
	started(b, stop, err)
	return address
}
