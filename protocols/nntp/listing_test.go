package nntp

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// TestListingStopsAtReadError checks that entries stops at a read error, including an overlong line.
func TestListingStopsAtReadError(t *testing.T) {
	t.Parallel()
	for _, broken := range []error{io.ErrUnexpectedEOF, &fetch.Error{Err: &wire.LineTooLongError{Max: 9}}} {
		r := io.MultiReader(strings.NewReader("one\r\n"), iotest.ErrReader(broken))
		var names []string
		for e, err := range entries(r, func(line []byte) (fetch.Entry, bool) { return fetch.Entry{Name: string(line)}, true }) {
			if names = append(names, e.Name); len(names) > 9 {
				t.Fatal("the listing does not end")
			}
			if err != nil && !errors.Is(err, broken) {
				t.Errorf("error %v, want %v", err, broken)
			}
		}
		if strings.Join(names, " ") != "one " {
			t.Errorf("entries %q", names)
		}
	}
}
