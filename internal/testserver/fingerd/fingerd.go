// Package fingerd is a small finger server for tests, on a loopback address.
package fingerd

import (
	"bufio"
	"testing"

	"github.com/urlget/urlget/internal/testserver/lineserver"
)

// Start runs a server until the test ends. It answers each query with what
// answers holds for it.
func Start(t testing.TB, answers map[string]string) *lineserver.Server {
	t.Helper()
	return lineserver.Start(t, nil, func(line string, _ *bufio.Reader) ([]byte, bool) {
		if text, ok := answers[line]; ok {
			return []byte(text), false
		}
		return []byte("finger: " + line + ": no such user.\r\n"), false
	})
}
