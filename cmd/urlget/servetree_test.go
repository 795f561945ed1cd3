package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// Members of a zip file that cannot be opened by name do not empty the listing of their directory.
func TestBadMembersOfAZipTree(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{
		"good", "d/good", "d/", "d/", "empty/", "twice", "twice", "file", "file/below", "../out", "/rooted", "d/../../out",
		`back\slash`, "d//double", "\xff", strings.Repeat("a/", 3000) + "deep", "both/", "both",
	} {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	z.File = readable(z.File)
	for dir, want := range map[string][]string{".": {"d", "empty", "file", "good"}, "d": {"good"}, "empty": {}, "file": {"below"}} {
		list, err := fs.ReadDir(z, dir)
		names := []string{}
		for _, e := range list {
			names = append(names, e.Name())
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%s: %q, %v", dir, names, err)
		}
	}
}
