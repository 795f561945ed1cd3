package render_test

import (
	"iter"
	"log"
	"os"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

// members returns a listing in the form that Client.List returns.
func members() iter.Seq2[fetch.Entry, error] {
	at := time.Date(2020, 2, 3, 4, 5, 0, 0, time.UTC)
	return func(yield func(fetch.Entry, error) bool) {
		_ = yield(fetch.Entry{Name: "doc", Kind: fetch.EntryListing, Size: -1, URL: uri.MustParse("ftp://h/doc/"), ModTime: at}, nil) &&
			yield(fetch.Entry{Name: "a\x1b[31m.txt", Size: 1234, URL: uri.MustParse("ftp://h/a%1B%5B31m.txt"), ModTime: at}, nil)
	}
}

// Control characters from servers are escaped.
func ExampleText() {
	if err := render.Text(os.Stdout, members(), &render.TextOptions{Location: time.UTC}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// dir      -  2020-02-03 04:05  doc
	// file  1234  2020-02-03 04:05  a\x1b[31m.txt
}
