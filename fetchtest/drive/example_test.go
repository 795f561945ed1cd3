package drive_test

import (
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/data"
)

// A test of a driver that has its requests made, here of that for data URLs.
func Example() {
	testURLs := func(t *testing.T) {
		c := drive.Client(t, nil, data.Load)
		drive.Gets(t, c, "data:,a%20b", "a b")
		drive.Fails(t, c, "data:;base64,a", fetch.ErrURL)
	}
	_ = testURLs // its name would be TestURLs
}
