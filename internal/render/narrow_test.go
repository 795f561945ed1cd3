package render_test

import (
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

func TestNarrowTablesHaveNamesOnLinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	entries := func(yield func(fetch.Entry, error) bool) {
		yield(fetch.Entry{Name: "ascii.txt", Kind: fetch.EntryObject, Size: 1234, URL: uri.MustParse("http://h/ascii.txt"),
			ModTime: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)}, nil)
	}
	for width, want := range map[int]string{
		0:  "file  1234  2026-01-02 03:04  ascii.txt\n",
		80: "file  1234  2026-01-02 03:04  ascii.txt\n",
		40: "ascii.txt\n  file  1234  2026-01-02 03:04\n",
	} {
		var b strings.Builder
		if err := render.Text(&b, entries, &render.TextOptions{Location: time.UTC, Width: width}); err != nil || b.String() != want {
			t.Errorf("%d columns: %q, %v; want %q", width, b.String(), err, want)
		}
	}
}
