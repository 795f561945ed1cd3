//go:build integration

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/rsync"
)

// rsyncRoot returns the URL of a module, without a slash at the end.
func rsyncRoot(s *lab.Server, module string) string {
	return "rsync://" + lab.User + ":" + lab.Password + "@" + s.Addr("plain") + "/" + module
}

func rsyncHarness(module string) func(server string) fetchtest.Harness {
	return func(server string) fetchtest.Harness {
		return fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := startWith(t, server, tree)
			return fetchtest.Site{
				Load: rsync.Load,
				URL: func(name string) string {
					if strings.ContainsAny(name, "\r\n") {
						return "" // the driver sends no names with line ends
					}
					return sftpURL(rsyncRoot(s, module), tree, name)
				},
			}
		}}
	}
}

// TestRsync reads unusual names, large files and large directories, in parallel, and paths that are
// refused.
func TestRsync(t *testing.T) {
	dir := lab.TempDir(t)
	content := bytes.Repeat([]byte("ten million bytes, more or less. "), 10<<20/33)
	files := map[string][]byte{"large": content, "empty": nil, "one": []byte("x"), "latin1-\xe9": []byte("odd"),
		"a b%20;c#d?e": []byte("odder"), `we?rd [a-z]*\ `: []byte("oddest"), "日本": []byte("far"), "secret": []byte("secret"),
		"-rf": []byte("an option"), "~": []byte("home"), strings.Repeat("x", 255): []byte("long")}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, sub := range []string{"many", "two lab", "locked"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(dir, "many", fmt.Sprint("file ", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Join(dir, "secret"), 0), os.Chmod(filepath.Join(dir, "locked"), 0),
		os.Symlink("large", filepath.Join(dir, "link")), os.WriteFile(filepath.Join(dir, "two lab", "x"), []byte("two"), 0o644)); err != nil {
		t.Fatal(err)
	}
	s := lab.StartRoot(t, "rsync", dir)
	c := fetch.New(nil, rsync.Load)
	defer c.Close()
	root := rsyncRoot(s, "lab")
	get := func(name string) ([]byte, error) { return c.ReadAll(t.Context(), root+"/"+name, 0) }
	var wg sync.WaitGroup
	for range 4 {
		for name, want := range files {
			wg.Go(func() {
				got, err := get(uri.Escape(name))
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
	for name, want := range map[string]string{"link": string(content), "two%20lab/x": "two"} {
		if got, err := get(name); string(got) != want || err != nil {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	for url, want := range map[string]fetch.Code{
		root + "/none": fetch.ErrNotFound, root + "/one/": fetch.ErrNotFound, root + "/locked/": fetch.ErrRefused, root + "none/x": fetch.ErrNotFound,
		strings.Replace(rsyncRoot(s, "private/one"), lab.Password, "wrong", 1): fetch.ErrAuth,
		"rsync://" + s.Addr("plain") + "/private/one":                          fetch.ErrAuth,
	} {
		if _, err := c.Get(t.Context(), url); fetch.CodeOf(err) != want {
			t.Errorf("%s: error %v, want one of class %q", url, err, want)
		}
	}
	for url, want := range map[string]int{root + "/": len(files) + 4, root + "/many": 10_000, strings.TrimSuffix(root, "lab"): 2} {
		if n := len(drive.MustList(t, c, url)); n != want {
			t.Errorf("%s: %d entries, want %d", url, n, want)
		}
	}
	if log := s.Log(); strings.Contains(log, "rsync error") && !strings.Contains(log, "code 23") {
		t.Errorf("the daemon logged an error: %s", log)
	}
}
