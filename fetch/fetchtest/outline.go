package fetchtest

import (
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
)

// Outline reads a response to the end. It returns the content or, of a listing, the kind, name and
// URL of each entry, which ends with "; ". URLs below root lack it.
func Outline(t testing.TB, resp *fetch.Response, listing bool, root string) string {
	t.Helper()
	var b strings.Builder
	if !listing {
		if _, err := io.Copy(&b, resp.Body); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for e, err := range resp.Entries {
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(e.Kind.String() + " " + e.Name + " " + strings.TrimPrefix(e.URL.String(), root) + "; ")
	}
	return b.String()
}
