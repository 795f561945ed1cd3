package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

func TestLockFilesAreBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "urls.lock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxLockFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := readLocks(&flags.LockFile{}, nil, path); fetch.CodeOf(err) != fetch.ErrTooLarge {
		t.Error(err)
	}
}

// An update keeps comments, the mode and the file behind a symbolic link, and does not overwrite the
// changes of another program.
func TestRewriteOfLockFiles(t *testing.T) {
	t.Parallel()
	const (
		sum    = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
		before = "# urlget lock 1\r\n# kept\n\n{\"name\":\"a\", \"url\":\"x:a\",\"size\":0,\"sha256\":\"" + sum + "\"}\n{ \"url\":\"x:b\",\"name\":\"b\",\"size\":0,\"sha256\":\"" + sum + "\",\"note\":\"kept\"}"
		after  = "# urlget lock 1\r\n# kept\n\n{\"url\":\"x:a\",\"name\":\"a\",\"size\":1,\"sha256\":\"" + sum + "\"}\n{ \"url\":\"x:b\",\"name\":\"b\",\"size\":0,\"sha256\":\"" + sum + "\",\"note\":\"kept\"}"
	)
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte(before), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Skip(err)
	}
	f, err := readLocks(&flags.LockFile{}, nil, link)
	if err != nil {
		t.Fatal(err)
	}
	for i, size := range []int64{1, 0} {
		now := *f.locks[i]
		now.Size = size
		if _, err := f.replace(f.locks[i], &now); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.rewrite(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	info, _ := os.Stat(file)
	if err != nil || string(got) != after || info.Mode().Perm() != 0o640 {
		t.Errorf("%q, mode %v, %v", got, info.Mode(), err)
	}
	if err := f.rewrite(); fetch.CodeOf(err) != fetch.ErrFile {
		t.Errorf("another program changed it: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left %v", left)
	}
}

func TestPartsOfALockThatChange(t *testing.T) {
	t.Parallel()
	const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	old := download.Manifest{URLs: []uri.URI{uri.MustParse("x:a")}, Name: "a", Checksum: "sha256:" + sum, Line: 2}
	for want, change := range map[string]func(*download.Manifest){
		"":                func(l *download.Manifest) { l.Time = modified },
		"content":         func(l *download.Manifest) { l.Size, l.ETag = 1, "e" },
		"validator":       func(l *download.Manifest) { l.ETag = "e" },
		"content type":    func(l *download.Manifest) { l.ContentType = "text/plain" },
		"list of mirrors": func(l *download.Manifest) { l.URLs = append(l.URLs[:1:1], uri.MustParse("x:b")) },
	} {
		now := old
		change(&now)
		f := &lockFile{changed: map[int][]byte{}}
		if got, err := f.replace(&old, &now); err != nil || got != want || (f.changed[2] != nil) != (want != "") {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}
