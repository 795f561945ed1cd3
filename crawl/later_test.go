package crawl

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// TestChangesAreWrittenInAQuietCrawl copies the file of a state, as it is after the process is killed during a
// long transfer.
func TestChangesAreWrittenInAQuietCrawl(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.write(); err != nil { // so that the next change is not written at once
			t.Fatal(err)
		}
		link := Link{URL: uri.MustParse("http://h/page"), Size: -1}
		if _, err := s.add(newItem(&link), -1, "", 0); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Claim("page", "http://h/page"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * writeEvery)
		synctest.Wait()
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name+".killed", text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		killed, err := Open(name + ".killed")
		if err != nil {
			t.Fatal(err)
		}
		defer killed.Close()
		if owner, _, err := killed.Owner("page"); owner != "http://h/page" || err != nil {
			t.Errorf("the name is owned by %q, %v", owner, err)
		}
	})
}
