//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
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
)

// TestLockedRunsThatAreKilled kills urlget --locked at random times until a run completes. A name of
// the lock file never has other bytes: the server of each URL has changed or is slow, and only one of
// its mirrors has the content. An older file stays until the new one is verified.
func TestLockedRunsThatAreKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tree, changed := fstest.MapFS{}, fstest.MapFS{}
	for i := range 6 {
		content := bytes.Repeat([]byte{byte(i), 1, 2, 3}, 1<<19/(i+1))
		name := fmt.Sprintf("f%d", i)
		tree[name] = &fstest.MapFile{Data: content, ModTime: modified}
		other := bytes.Clone(content)
		other[len(other)/2] ^= 1
		changed[name] = &fstest.MapFile{Data: other, ModTime: modified}
	}
	liar := httptest.NewServer(http.FileServerFS(changed))
	t.Cleanup(liar.Close)
	slow := httptest.NewServer(slowly(http.FileServerFS(tree)))
	t.Cleanup(slow.Close)
	ftp := ftpd.Start(t, ftpd.Options{Tree: tree}).URL
	for name, flags := range map[string][]string{"one stream": nil, "segments": {"-s", "3"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			lock := "# urlget lock 1\n"
			for i := range len(tree) {
				f := fmt.Sprintf("f%d", i)
				sources := []string{slow.URL, liar.URL, ftp}
				if i%2 == 1 {
					sources = []string{liar.URL, slow.URL, ftp}
				}
				lock += fmt.Sprintf(`{"url":"%s/%s","name":"%[2]s","size":%d,"sha256":"%x","mirrors":["%[5]s/%[2]s","%[6]s/%[2]s"]}`+"\n",
					sources[0], f, len(tree[f].Data), sha256.Sum256(tree[f].Data), sources[1], sources[2])
			}
			file := filepath.Join(t.TempDir(), "urls.lock")
			if err := os.WriteFile(file, []byte(lock), 0o600); err != nil {
				t.Fatal(err)
			}
			old := []byte("old")
			if err := os.WriteFile(filepath.Join(dir, "f0"), old, 0o600); err != nil {
				t.Fatal(err)
			}
			killed := 0
			for run := 0; ; run++ {
				cmd := exec.Command(self, append(flags, "-q", "-P", dir, "--no-netrc", "--locked", file)...)
				cmd.Args[0] = "urlget" // the name that TestMain expects
				cmd.Env = append(os.Environ(), "HOME="+dir, "no_proxy=*", "GORACE="+quickExit)
				var out strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				moment := (*time.Timer)(nil)
				if run < 10**kills { // the last one is left alone
					moment = time.AfterFunc(rand.N(time.Duration(10 + run*60 / *kills)*time.Millisecond), func() { cmd.Process.Kill() })
				}
				err := cmd.Wait()
				if moment != nil {
					moment.Stop()
				}
				for name, f := range tree {
					have, missing := os.ReadFile(filepath.Join(dir, name))
					if missing == nil && !bytes.Equal(have, f.Data) && (name != "f0" || !bytes.Equal(have, old)) {
						t.Fatalf("run %d: %s has %d bytes, or wrong ones", run, name, len(have))
					}
					if missing != nil && err == nil {
						t.Fatalf("%s is missing after a complete run", name)
					}
				}
				if err == nil {
					break
				}
				if cmd.ProcessState.ExitCode() >= 0 {
					t.Fatalf("run %d: %v\n%s", run, err, out.String())
				}
				killed++
			}
			if killed == 0 {
				t.Error("no run was killed")
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != len(tree) {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// slowly passes on the responses of h in pieces, so that a process is killed within them.
func slowly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(&slowWriter{w, r}, r) })
}

type slowWriter struct {
	http.ResponseWriter
	r *http.Request
}

// Write implements io.Writer.
func (w *slowWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		piece := p[:min(len(p), 64<<10)]
		p = p[len(piece):]
		if _, err = w.ResponseWriter.Write(piece); err == nil {
			n += len(piece)
			select {
			case <-time.After(5 * time.Millisecond): // the rate of the server
			case <-w.r.Context().Done():
				err = w.r.Context().Err()
			}
		}
	}
	return n, err
}
