//go:build unix

package main

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
)

var kills = flag.Int("kills", unlessLong(1, 3), "how often TestMirrorsThatAreKilled kills each mirror")

// TestMirrorsThatAreKilled kills mirrors at random times and lets the last one finish. The tree then
// equals that of the server, and no partial file remains.
func TestMirrorsThatAreKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{}
	for i := range 150 {
		name := fmt.Sprintf("d%d/e%d/f%d.txt", i%5, i%3, i)
		tree[name] = &fstest.MapFile{Data: []byte(strings.Repeat(name+"\n", 1+i*i)), ModTime: modified}
	}
	web := httptest.NewServer(http.FileServerFS(tree))
	t.Cleanup(web.Close)
	for scheme, seed := range map[string]string{
		"http":   web.URL + "/",
		"ftp":    ftpd.Start(t, ftpd.Options{Tree: tree}).URL + "/",
		"gopher": gopherd.Start(t, gopherd.Options{Tree: tree}).URL + "/",
	} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			mirror := func() *exec.Cmd {
				cmd := exec.Command(self, "-q", "-m", "-nH", "-P", dir, "--no-netrc", seed)
				cmd.Args[0] = "urlget" // the name that TestMain expects
				cmd.Env = append(os.Environ(), "HOME="+dir, "no_proxy=*", "GORACE="+quickExit)
				return cmd
			}
			for range *kills {
				cmd := mirror()
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				moment := time.AfterFunc(rand.N(400*time.Millisecond), func() { cmd.Process.Kill() })
				cmd.Wait()
				moment.Stop()
			}
			if out, err := mirror().CombinedOutput(); err != nil {
				t.Fatalf("the last one: %v\n%s", err, out)
			}
			sameTree(t, dir, tree)
		})
	}
}

// sameTree compares a mirror with the original tree, except for menus, indexes and the state file.
func sameTree(t *testing.T, dir string, tree fstest.MapFS) {
	t.Helper()
	left := map[string]bool{}
	for name := range tree {
		left[name] = true
	}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		base := filepath.Base(name)
		switch {
		case err != nil || base == ".urlget":
			if err == nil {
				err = fs.SkipDir
			}
			return err
		case e.IsDir() || base == "gophermap" || base == "index.html":
			return nil
		case tree[name] == nil:
			t.Errorf("%s is no file of the server", name)
			return nil
		}
		delete(left, name)
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != string(tree[name].Data) {
			t.Errorf("%s has %d bytes, want %d: %v", name, len(b), len(tree[name].Data), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range left {
		t.Errorf("%s is missing", name)
	}
}
