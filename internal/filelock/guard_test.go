package filelock_test

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/urlget/urlget/internal/filelock"
)

func TestGuardAdmitsOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	inside := make(chan struct{}, 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				unlock := filelock.Guard(path)
				select {
				case inside <- struct{}{}:
					<-inside
				default:
					t.Error("two hold the lock")
				}
				unlock()
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(filepath.Dir(path)); runtime.GOOS != "windows" && (err != nil || len(left) > 0) {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestGuardKeepsFilesOfOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "urls")
	for _, name := range []string{path + ".lock", filepath.Join(filepath.Dir(path), ".urls.lock")} {
		if err := os.WriteFile(name, []byte("# urlget lock 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		filelock.Guard(path)()
		if text, err := os.ReadFile(name); err != nil || string(text) != "# urlget lock 1\n" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
