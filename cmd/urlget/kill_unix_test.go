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
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
)

var kills = flag.Int("kills", unlessLong(1, 3), "how often TestMirrorsThatAreKilled kills each mirror")

// A watchedTree calls opened for each file and directory that a server opens.
type watchedTree struct {
	tree   fs.FS
	opened func()
}

// Open implements fs.FS.
func (t watchedTree) Open(name string) (fs.File, error) {
	t.opened()
	return t.tree.Open(name)
}

// TestMirrorsThatAreKilled kills mirrors after a random file and lets the last one finish. The tree then
// equals that of the server, and no partial file remains.
func TestMirrorsThatAreKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{}
	for i := range unlessLong(60, 150) {
		name := fmt.Sprintf("d%d/e%d/f%d.txt", i%5, i%3, i)
		tree[name] = &fstest.MapFile{Data: []byte(strings.Repeat(name+"\n", 1+i*i)), ModTime: modified}
	}
	for scheme, serve := range map[string]func(*testing.T, fs.FS) (url string){
		"http": func(t *testing.T, tree fs.FS) string {
			web := httptest.NewServer(http.FileServerFS(tree))
			t.Cleanup(web.Close)
			return web.URL
		},
		"ftp":    func(t *testing.T, tree fs.FS) string { return ftpd.Start(t, ftpd.Options{Tree: tree}).URL },
		"gopher": func(t *testing.T, tree fs.FS) string { return gopherd.Start(t, gopherd.Options{Tree: tree}).URL },
	} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var countdown atomic.Int64
			var kill atomic.Value // of func()
			seed := serve(t, watchedTree{tree, func() {
				if countdown.Add(-1) == 0 {
					time.AfterFunc(rand.N(5*time.Millisecond), kill.Load().(func()))
				}
			}}) + "/"
			mirror := func() *exec.Cmd {
				cmd := exec.Command(self, "-q", "-m", "-nH", "-P", dir, "--no-netrc", seed)
				cmd.Args[0] = "urlget" // the name that TestMain expects
				cmd.Env = append(os.Environ(), "HOME="+dir, "no_proxy=*", "GORACE="+quickExit)
				return cmd
			}
			for range *kills {
				cmd := mirror()
				started := make(chan struct{})
				kill.Store(func() { <-started; cmd.Process.Kill() })
				countdown.Store(1 + rand.Int64N(int64(len(tree))))
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				close(started)
				t.Logf("killed mirror: %v", cmd.Wait())
			}
			countdown.Store(0)
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
