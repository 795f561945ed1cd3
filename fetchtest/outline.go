package fetchtest

import (
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
)

// CheckOutline performs a request and compares its outcome with want. If code is not empty, the
// request must fail with an error of that class. The outline of an object is its body. The outline
// of a listing is the kind, name and URL of each entry, followed by "; ". URLs are shown without
// the prefix root.
func CheckOutline(t testing.TB, c *fetch.Client, req *fetch.Request, root, want string, code fetch.Code) {
	t.Helper()
	resp, err := c.Do(t.Context(), req)
	if fetch.CodeOf(err) != code {
		t.Fatalf("error %v, want class %q", err, code)
	}
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if got := outline(t, resp, req.Op == fetch.OpList, root); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// outline reads a response to the end and returns its outline.
func outline(t testing.TB, resp *fetch.Response, listing bool, root string) string {
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
