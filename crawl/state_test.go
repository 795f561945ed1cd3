package crawl_test

import (
	"path/filepath"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch/uri"
)

// An item that is queued and removed between two writes is never written.
func TestFinishedItemsAreNotWritten(t *testing.T) {
	t.Parallel()
	s, err := crawl.OpenNoSync(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, test := range []struct {
		url   string
		write bool
		want  int
	}{{"http://h/a", false, 0}, {"http://h/b", true, 1}} {
		pending, err := s.AddAndFinish(uri.MustParse(test.url), test.write)
		if err != nil || pending != test.want {
			t.Errorf("%s: %d pending changes, %v, want %d", test.url, pending, err, test.want)
		}
		if n := s.Queued(); n != 0 {
			t.Errorf("%s: %d queued items, want 0", test.url, n)
		}
	}
}
