package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestFilesAreReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, content := range []string{"new", "newer"} {
		name := filepath.Join(dir, "file")
		if err := WriteFile(name, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		info, _ := os.Stat(name)
		if err != nil || string(got) != content || info.Mode() != 0o640 {
			t.Errorf("%q, %v, %v; want %q", got, info.Mode(), err, content)
		}
	}
	wantNames(t, dir, "file")
}

func TestSymbolicLinksStay(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	file, link := filepath.Join(elsewhere, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Symlink(file, link)); err != nil {
		t.Skip(err) // systems without links
	}
	if err := Replace(link, 0o600, text("new")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if target, linkErr := os.Readlink(link); string(got) != "new" || target != file {
		t.Errorf("%q, %q, %v, %v", got, target, err, linkErr)
	}
}

func TestFailuresLeaveTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	err := Replace(name, 0o600, func(w io.Writer) error {
		io.WriteString(w, "a part")
		return &fs.PathError{Op: "write", Path: w.(*os.File).Name(), Err: full}
	})
	if got, _ := os.ReadFile(name); string(got) != "old" || !errors.Is(err, full) || strings.Contains(err.Error(), ".file.") {
		t.Errorf("%q, %v", got, err)
	}
	wantNames(t, dir, "file")

	for name, path := range map[string]string{"a directory": dir, "a missing directory": filepath.Join(dir, "no", "file")} {
		var wrong *fs.PathError
		if err := Replace(path, 0o600, text("new")); !errors.As(err, &wrong) || wrong.Path != path {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func wantNames(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(names) {
		t.Fatalf("%v, %v; want %q", entries, err, names)
	}
	for i, e := range entries {
		if e.Name() != names[i] {
			t.Errorf("%s, want %s", e.Name(), names[i])
		}
	}
}
