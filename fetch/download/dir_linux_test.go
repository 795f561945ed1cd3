package download

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestLinkByDescriptorAndByPath(t *testing.T) {
	t.Parallel()
	for name, byPath := range map[string]bool{"descriptor": false, "path": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := t.TempDir()
			root, err := os.OpenRoot(where)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			dir, err := openDir(root, ".")
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			dir.(*osDir).byPath.Store(byPath)
			file, err := dir.unnamed()
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip("the file system has no files without a name")
			}
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if _, err := file.Write([]byte("content")); err != nil {
				t.Fatal(err)
			}
			if err := file.link("a"); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(where, "a")); err != nil || string(got) != "content" {
				t.Errorf("%q, %v", got, err)
			}
			if err := file.link("a"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("the second link of that name: %v", err)
			}
		})
	}
}
