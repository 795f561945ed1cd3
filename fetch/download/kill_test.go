package download_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetchtest"
)

// These environment variables configure the process that downloads until it is killed.
const childDir, childSegments = "DOWNLOAD_TEST_DIR", "DOWNLOAD_TEST_SEGMENTS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

var killedContent = sync.OnceValue(func() []byte { return pattern(4<<20, 9) })

func killed() *liar { return newLiar(killedContent()) }

// child replaces file.bin repeatedly and prints a line at each step.
func child(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	d := &download.Downloader{Client: fetch.New(nil, killed().load), Root: root}
	segments, err := strconv.Atoi(os.Getenv(childSegments))
	if err != nil {
		return err
	}
	for {
		if _, err := d.Get(context.Background(), liarURL, "", &download.Options{Exists: download.Overwrite, Segments: segments,
			Progress: func(done, _ int64) { fmt.Println(done) }}); err != nil {
			return err
		}
		fmt.Println("saved")
	}
}

// A process killed at any moment leaves the old or the new file, and a partial file that the next run
// resumes or replaces.
func TestKilled(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content := string(killed().content)
	for _, segments := range []int{0, 4} {
		steps := []int{1, 17}
		if fetchtest.IsLong() {
			steps = []int{1, 6, 16, 17, 20}
		}
		for _, steps := range steps {
			t.Run(fmt.Sprintf("%d segments, %d steps", segments, steps), func(t *testing.T) {
				dir := t.TempDir()
				if err := os.WriteFile(dir+"/file.bin", []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(exe)
				cmd.Env = append(os.Environ(), childDir+"="+dir, childSegments+"="+strconv.Itoa(segments))
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(out)
				for range steps {
					if !lines.Scan() {
						t.Error("the process ended by itself")
						break
					}
				}
				cmd.Process.Kill()
				cmd.Wait()
				left := contents(t, dir)
				if got := left["file.bin"]; got != "old" && got != content {
					t.Fatalf("file.bin has %d bytes", len(got))
				}
				if left["file.bin.part"] != "" && left["file.bin.part.json"] == "" {
					t.Errorf("a part of %d bytes has no record", len(left["file.bin.part"]))
				}
				d := killed().downloader(t, dir)
				r, err := d.Get(t.Context(), liarURL, "file.bin", &download.Options{Exists: download.Resume})
				if err != nil {
					t.Fatal(err)
				}
				have := contents(t, dir)
				if have[r.Name] != content {
					t.Fatalf("%s has %d bytes, or wrong ones", r.Name, len(have[r.Name]))
				}
				delete(have, r.Name)
				delete(have, "file.bin")
				if len(have) > 0 && r.Outcome == download.Saved {
					t.Errorf("left over: %q", names(have))
				}
			})
		}
	}
}
