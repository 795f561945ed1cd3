//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/integration/lab"
)

// TestKilledMirrors kills mirrors of real servers 42 times at random moments, and lets the last one
// of each finish. The tree must equal that of an uninterrupted mirror. Files with a modification
// time must have been saved only once.
func TestKilledMirrors(t *testing.T) {
	const kills = 14
	program := filepath.Join(t.TempDir(), "urlget")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/urlget").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, tt := range []struct {
		server, before, after string
		// facts is set if the protocol reports changes of files, so that files saved after the last
		// write of the state are not retrieved again.
		facts bool
	}{
		{"nginx", "http://", "/many/", true},
		{"vsftpd", "ftp://", "/many/", true},
		{"gophernicus", "gopher://", "/1/many/", false},
	} {
		t.Run(tt.server, func(t *testing.T) {
			seed := tt.before + lab.Start(t, tt.server).Addr("plain") + tt.after
			mirror := func(dir string) *exec.Cmd {
				cmd := exec.Command(program, "-m", "-np", "-nH", "-P", dir, "--json", "--no-netrc", seed)
				cmd.Env = append(os.Environ(), "HOME="+dir, "no_proxy=*")
				cmd.Stderr = t.Output()
				return cmd
			}
			undisturbed, killed := t.TempDir(), t.TempDir()
			start := time.Now()
			if _, err := mirror(undisturbed).Output(); err != nil {
				t.Fatal(err)
			}
			whole := time.Since(start) // killed runs take no longer in total
			saved := map[string]int{}
			for i := range kills + 1 {
				cmd := mirror(killed)
				var out bytes.Buffer
				cmd.Stdout = &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if i < kills {
					moment := time.AfterFunc(rand.N(whole/kills), func() { cmd.Process.Kill() })
					cmd.Wait()
					moment.Stop()
				} else if err := cmd.Wait(); err != nil {
					t.Errorf("the last one: %v", err)
				}
				countSaved(t, &out, saved)
			}
			sameFiles(t, undisturbed, killed)
			for url, n := range saved {
				if n > 1 && tt.facts && !strings.HasSuffix(url, "/") { // directory pages have no modification times
					t.Errorf("saved %d times: %s", n, url)
				}
			}
		})
	}
}

// countSaved counts the events "saved" of a run by URL. The last line may be incomplete.
func countSaved(t *testing.T, events *bytes.Buffer, saved map[string]int) {
	t.Helper()
	for line := range bytes.Lines(events.Bytes()) {
		var e struct{ Event, URL string }
		if err := json.Unmarshal(line, &e); err != nil && bytes.HasSuffix(line, []byte("\n")) {
			t.Errorf("%s: %v", line, err)
		}
		if e.Event == "saved" {
			saved[e.URL]++
		}
	}
}

// sameFiles compares two mirrors except their state.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	files := func(dir string) map[string][]byte {
		all := map[string][]byte{}
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
			switch {
			case e != nil && e.IsDir() && e.Name() == ".urlget":
				return fs.SkipDir
			case err != nil || e.IsDir():
				return err
			}
			all[name], err = os.ReadFile(filepath.Join(dir, name))
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return all
	}
	want, got := files(a), files(b)
	for name, content := range want {
		if have, ok := got[name]; !ok || !bytes.Equal(have, content) {
			t.Errorf("%s has %d bytes, want %d", name, len(have), len(content))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is there", name)
		}
	}
	if len(want) < 1000 {
		t.Errorf("only %d files", len(want))
	}
}
