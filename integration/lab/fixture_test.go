package lab

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"github.com/urlget/urlget/fetchtest"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The tree must be the same everywhere. Update this value after every intended change of a name, a
// content or a time.
const wantFixtureID = "1522042eeca34ee0"

func TestFixtureID(t *testing.T) {
	t.Parallel()
	if got := FixtureID(); got != wantFixtureID {
		t.Errorf("fixture tree %s, want %s", got, wantFixtureID)
	}
}

func TestFixture(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, f := range Fixture() {
		b := f.Bytes()
		sum := sha256.Sum256(b)
		if int64(len(b)) != f.Size || hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%q: %d bytes, %x; described as %d, %s", f.Name, len(b), sum, f.Size, f.SHA256)
		}
		if names[f.Name] {
			t.Errorf("duplicate file %q", f.Name)
		}
		names[f.Name] = true
		if strings.ContainsAny(f.Name, "\r\n\x00") || !filepath.IsLocal(f.Name) {
			t.Errorf("%q is no name for a file of the tree", f.Name)
		}
	}
	for _, size := range []int64{0, 1, 64<<10 + 1, 8 << 20} {
		if !slices.ContainsFunc(Fixture(), func(f File) bool { return f.Size == size }) {
			t.Errorf("no file of %d bytes", size)
		}
	}
}

func TestAllBytes(t *testing.T) {
	t.Parallel()
	for i := range 256 {
		if !bytes.Contains(allBytes(), []byte{byte(i), byte(i)}) {
			t.Errorf("no two bytes %#x in a row", i)
		}
	}
}

// TestWriteFixture writes the tree. Without URLGET_LONG, it writes each 20th of the many files that
// differ only in their number.
func TestWriteFixture(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list := slices.Clone(Fixture())
	if !fetchtest.IsLong() {
		many := 0
		list = slices.DeleteFunc(list, func(f File) bool {
			if !strings.HasPrefix(f.Name, ManyDir+"/") {
				return false
			}
			many++
			return many%20 != 1
		})
	}
	if err := writeFiles(dir, list); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			if info.Mode().Perm() != 0o755 || !info.ModTime().Equal(fixtureTime) {
				t.Errorf("%s: %v", path, fs.FormatFileInfo(info))
			}
			return nil
		}
		files++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := len(list); files != want {
		t.Errorf("%d files, want %d", files, want)
	}
	for _, f := range list {
		path := filepath.Join(dir, f.Name)
		info, err := os.Stat(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if !info.ModTime().Equal(f.ModTime) || info.Mode() != f.mode() {
			t.Errorf("%q: %v, want time %v", f.Name, fs.FormatFileInfo(info), f.ModTime)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, f.Bytes()) {
			t.Errorf("%q: other content than described (%v)", f.Name, err)
		}
	}
}

func TestArticles(t *testing.T) {
	t.Parallel()
	for _, a := range Articles() {
		if !strings.Contains(string(a.File.Bytes()), "\nMessage-ID: "+a.MessageID+"\n") {
			t.Errorf("%s is not in %q", a.MessageID, a.File.Name)
		}
		if len(a.Groups) == 0 {
			t.Errorf("%s is in no group", a.MessageID)
		}
	}
}
