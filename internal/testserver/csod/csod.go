// Package csod is a small CSO name server for tests, on a loopback address.
package csod

import (
	"bufio"
	"strings"
	"testing"

	"github.com/urlget/urlget/internal/testserver/lineserver"
)

// Start runs a server until the test ends. It answers the words of a query
// with what answers holds for them, without the final reply "200:Ok.".
func Start(t testing.TB, answers map[string]string) *lineserver.Server {
	t.Helper()
	return lineserver.Start(t, nil, func(line string, _ *bufio.Reader) ([]byte, bool) {
		if line == "quit" {
			return []byte("200:Bye!\r\n"), false
		}
		words, ok := strings.CutPrefix(line, "query ")
		if !ok {
			return []byte("598:Command not recognized.\r\n"), true
		}
		if text, ok := answers[words]; ok {
			return []byte(text + "200:Ok.\r\n"), true
		}
		return []byte("501:No matches to your query.\r\n"), true
	})
}
