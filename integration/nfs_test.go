//go:build integration

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/nfs"
)

// nfsOptions returns options with the port of the MOUNT protocol of a server of the lab.
func nfsOptions(t testing.TB, s *lab.Server) nfs.Options {
	t.Helper()
	port, err := strconv.ParseUint(s.Port("mount"), 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return nfs.Options{MountPort: uint16(port)}
}

// nfsRoot returns the URL of the served folder, which is exported under its own path.
func nfsRoot(s *lab.Server) string {
	if s.Compose {
		return "nfs://" + s.Addr("nfs") + "/srv/lab"
	}
	return "nfs://" + s.Addr("nfs") + s.Root
}

func nfsHarness(server string) fetchtest.Harness {
	return fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
		s := startWith(t, server, tree)
		return fetchtest.Site{
			Load:    nfs.With(nfsOptions(t, s)),
			URL:     func(name string) string { return sftpURL(nfsRoot(s), tree, name) },
			Escaped: true, // names have a length
		}
	}}
}

// TestGanesha reads unusual names, large files and large directories, in parallel, and paths that
// are refused.
func TestGanesha(t *testing.T) {
	dir := lab.TempDir(t)
	content := bytes.Repeat([]byte("ten million bytes, more or less. "), 10<<20/33)
	files := map[string][]byte{"large": content, "empty": nil, "one": []byte("x"), "latin1-\xe9": []byte("odd"), "line\nend": []byte("odder"),
		"a b%20;c#d?e": []byte("oddest"), "日本": []byte("far"), "secret": []byte("secret")}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "many"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(dir, "many", fmt.Sprint("file ", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Join(dir, "secret"), 0), os.Symlink("large", filepath.Join(dir, "link")),
		os.Symlink("/etc/passwd", filepath.Join(dir, "outside"))); err != nil {
		t.Fatal(err)
	}
	s := lab.StartRoot(t, "ganesha", dir)
	c := fetch.New(nil, nfs.With(nfsOptions(t, s)))
	defer c.Close()
	root := nfsRoot(s)
	get := func(name string) ([]byte, error) {
		resp, err := c.Get(t.Context(), root+"/"+uri.Escape(name))
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		return io.ReadAll(resp.Body)
	}
	var wg sync.WaitGroup
	for range 8 { // more than 64 in parallel
		for name, want := range files {
			wg.Go(func() {
				got, err := get(name)
				if name == "secret" {
					if !errors.Is(err, fetch.ErrRefused) {
						t.Errorf("a file that may not be read: error %v, want one of class %q", err, fetch.ErrRefused)
					}
				} else if !bytes.Equal(got, want) || err != nil {
					t.Errorf("%q: %d bytes, %v", name, len(got), err)
				}
			})
		}
	}
	wg.Wait()
	if got, err := get("link"); !bytes.Equal(got, content) || err != nil {
		t.Errorf("by a link: %d bytes, %v", len(got), err)
	}
	if _, err := get("outside"); !errors.Is(err, fetch.ErrPolicy) {
		t.Errorf("a link to the outside: error %v, want one of class %q", err, fetch.ErrPolicy)
	}
	if _, err := get("none"); !errors.Is(err, fetch.ErrNotFound) {
		t.Errorf("a missing file: error %v, want one of class %q", err, fetch.ErrNotFound)
	}
	for url, want := range map[string]int{root + "/": len(files) + 3, root + "/many": 10_000} {
		if n := len(drive.MustList(t, c, url)); n != want {
			t.Errorf("%s: %d entries, want %d", url, n, want)
		}
	}
}
