package crawl_test

import (
	"errors"
	"io/fs"
	"os"
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

// The end of a crawl whose state is removed is not written. Until then a crash loses only its last moments.
func TestRemovedStateIsNotWritten(t *testing.T) {
	t.Parallel()
	site := newSite(t, map[string]string{"/": `<a href=a>`, "/a": "a"})
	file := filepath.Join(t.TempDir(), "state")
	for _, removed := range []bool{false, true} {
		s, err := crawl.OpenNoSync(file)
		if err != nil {
			t.Fatal(err)
		}
		synced := 0
		done, _ := visits(t, site, "/", crawl.Options{State: s, StateRemoved: removed,
			Sync: func() error { synced++; return nil }})
		if len(done) != 2 || s.Continues() {
			t.Errorf("removed %v: visited %q, continues %v", removed, done, s.Continues())
		}
		s.Crash()
		if s, err = crawl.OpenNoSync(file); err != nil {
			t.Fatal(err)
		}
		if s.Continues() != removed {
			t.Errorf("removed %v: after a crash, continues %v", removed, s.Continues())
		}
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("removed %v: the file exists: %v", removed, err)
		}
	}
}

// Values are found wherever they are: among the changes, among those of the last write, and in the file.
func TestNamesAreFoundInMemoryAndInTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state")
	s, err := crawl.OpenNoSync(file)
	if err != nil {
		t.Fatal(err)
	}
	check := func(when, name, want string) {
		t.Helper()
		if owner, _, err := s.Owner(name); owner != want || err != nil {
			t.Errorf("%s, the owner of %q is %q, %v, want %q", when, name, owner, err, want)
		}
	}
	for _, name := range []string{"a", "b"} {
		if owner, err := s.Claim(name, "x"+name); owner != "x"+name || err != nil {
			t.Errorf("the owner of %q is %q, %v", name, owner, err)
		}
		check("before a write", name, "x"+name)
		s.Queued() // writes
		check("after a write", name, "x"+name)
	}
	check("after two writes", "a", "xa")
	if owner, err := s.Claim("a", "other"); owner != "xa" || err != nil {
		t.Errorf("a claimed name went to %q, %v", owner, err)
	}
	s.Disclaim("a")
	check("after Disclaim", "a", "")
	s.Queued()
	s.Queued()
	check("in the file after Disclaim", "a", "")
	check("never", "c", "")
	s.Close()
	if s, err = crawl.OpenNoSync(file); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check("in a reopened file", "b", "xb")
	check("in a reopened file", "c", "")
}
