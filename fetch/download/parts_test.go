package download_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/internal/unnamed"
)

// Of many small files in one second, only the first are looked up one by one, and old parts are replaced
// nevertheless.
func TestPartsOfManySmallFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := unnamed.Create(dir)
	if err != nil {
		t.Skip("this system cannot create a file without a name, so each file has a part")
	}
	f.Close()
	const old = "file-0090.part"
	if err := os.WriteFile(filepath.Join(dir, old), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { // whose second does not end
		d := newLiar(pattern(3000, 1)).downloader(t, dir)
		var looks atomic.Int32
		download.Watch(d, func(op, name string) error {
			if op == "lstat" && strings.HasSuffix(name, ".part") {
				looks.Add(1)
			}
			return nil
		})
		const files = 100
		for i := range files {
			if _, err := d.Get(t.Context(), liarURL, fmt.Sprintf("file-%04d", i), nil); err != nil {
				t.Fatal(err)
			}
		}
		have := contents(t, dir)
		if _, left := have[old]; left || len(have) != files {
			t.Errorf("%d files, with the old part: %t", len(have), left)
		}
		if n := looks.Load(); n > 25 {
			t.Errorf("%d looks", n)
		}
	})
}
