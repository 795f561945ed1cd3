package drive_test

import (
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/data"
)

// A test of the driver for data URLs.
func Example() {
	testURLs := func(t *testing.T) {
		c := drive.Client(t, nil, data.Load)
		drive.Gets(t, c, "data:,a%20b", "a b")
		drive.Fails(t, c, "data:;base64,a", fetch.ErrURL)
	}
	_ = testURLs // in a test file it would be TestURLs
}
