package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetchtest/warccheck"
)

// TestArchivesSurviveBeingKilled repeatedly kills the command while it records eight transfers in
// parallel, and restarts it with the same archive. URLGET_KILLS sets the number of kills.
func TestArchivesSurviveBeingKilled(t *testing.T) {
	t.Parallel()
	kills := unlessLong(3, 10)
	if n, err := strconv.Atoi(os.Getenv("URLGET_KILLS")); err == nil {
		kills = n
	}
	var countdown atomic.Int64
	var kill atomic.Value // of func()
	kill.Store(func() {})
	noise := make([]byte, 1<<20) // incompressible, and larger than the buffers in memory
	rand.NewChaCha8([32]byte{}).Read(noise)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		piece := []byte(strings.Repeat(r.URL.Path, 10000/len(r.URL.Path)+1)[:10000])
		if strings.HasSuffix(r.URL.Path, "0") {
			piece = noise[:len(noise)/10]
		}
		w.Header().Set("Content-Length", strconv.Itoa(10*len(piece)))
		at := -1
		if countdown.Add(-1) == 0 {
			at = rand.IntN(10)
		}
		for i := range 10 {
			if _, err := w.Write(piece); err != nil {
				return
			}
			if i == at {
				time.AfterFunc(rand.N(10*time.Millisecond), kill.Load().(func()))
			}
		}
	}))
	defer site.Close()
	dir := t.TempDir()
	var urls []string
	for i := range 40 {
		urls = append(urls, fmt.Sprintf("%s/%d", site.URL, i))
	}
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte(strings.Join(urls, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "a.warc.gz")
	var kept []byte // the complete records so far
	var killed, cut int
	for i := range kills + 1 {
		cmd := urlget("-q", "-c", "-j", "8", "--warc", archive, "-P", filepath.Join(dir, fmt.Sprint("out", i)), "-i", list)
		if i < kills {
			started := make(chan struct{})
			kill.Store(func() { <-started; cmd.Process.Kill() })
			countdown.Store(1 + rand.Int64N(int64(len(urls))))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			close(started)
			if cmd.Wait() != nil {
				killed++
			}
		} else {
			countdown.Store(-1)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		file, err := os.ReadFile(archive)
		if err != nil {
			continue // killed before the archive was created
		}
		whole := survey(t, file)
		if !bytes.HasPrefix(file, kept) {
			t.Fatalf("after %d kills what was whole is changed", i+1)
		}
		if whole < int64(len(file)) {
			cut++
		}
		kept = file[:whole]
		os.RemoveAll(filepath.Join(dir, fmt.Sprint("out", i)))
	}
	t.Logf("%d of %d runs were killed; %d times a record was cut off", killed, kills, cut)
	file, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := warccheck.Read(file); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".warc-*")); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

// survey returns the end of the last complete record of an archive. It fails the test if an earlier
// record is incomplete.
func survey(t *testing.T, file []byte) int64 {
	t.Helper()
	r, err := warc.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for first := int64(-1); ; {
		_, err := r.Next()
		var damage *warc.DamageError
		switch {
		case err == io.EOF:
			if first >= 0 && first < r.ValidSize() {
				t.Fatalf("damaged at byte %d, and there are records behind it", first)
			}
			return r.ValidSize()
		case errors.As(err, &damage) && first < 0:
			first = damage.Offset
		case err != nil && !errors.As(err, &damage):
			t.Fatal(err)
		}
	}
}

// A second run with the same archive sends no request. A run that is killed leaves no lock.
func TestArchivesHaveOneWriter(t *testing.T) {
	t.Parallel()
	requests, release := make(chan string, 10), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests <- r.URL.Path
		<-release
	}))
	defer site.Close()
	defer close(release)
	for name, tt := range map[string]struct {
		first, second []string
		archive       string // its file
	}{
		"-c":            {[]string{"get", "--warc", "a", "-c", "-O", "one"}, []string{"get", "--warc", "a.warc.gz", "-c", "-O", "two"}, "a.warc.gz"},
		"--warc-append": {[]string{"cat", "--warc", "a", "--warc-append"}, []string{"cat", "--warc", "./a", "--warc-append"}, "a.warc.gz"},
		"new archive":   {[]string{"cat", "--warc", "a", "--no-warc-compression"}, []string{"cat", "--warc", "a.warc"}, "a.warc"},
		"numbered":      {[]string{"cat", "--warc", "a", "--warc-max-size", "1M"}, []string{"cat", "--warc", "a", "--warc-append", "--warc-max-size", "2M"}, "a-00000.warc.gz"},
		"tree":          {[]string{"get", "-r", "-e", "robots=off", "--warc", "a", "-P", "one"}, []string{"get", "-m", "-e", "robots=off", "--warc", "a", "-c", "-P", "two"}, "a.warc.gz"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			start := func(args []string, path string) (kill func() (status int, out string)) {
				cmd := urlget(append(args, site.URL+path)...)
				out := new(bytes.Buffer)
				cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan struct{})
				go func() {
					cmd.Wait()
					close(ended)
				}()
				select {
				case got := <-requests:
					if got != path {
						t.Errorf("request of %s, not %s", got, path)
					}
				case <-ended:
				}
				return func() (int, string) {
					cmd.Process.Kill()
					<-ended
					return cmd.ProcessState.ExitCode(), out.String()
				}
			}
			first := start(tt.first, "/first")
			defer first()
			file := filepath.Join(dir, tt.archive)
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if status, out := start(tt.second, "/second")(); status != 3 || !strings.Contains(out, "in use by another process") {
				t.Errorf("exit status %d: %s", status, out)
			}
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, before) {
				t.Errorf("the archive changed: %v", err)
			}
			first()
			if status, out := start(append(tt.first, "--warc-append"), "/third")(); status != -1 {
				t.Errorf("after the first was killed: exit status %d: %s", status, out)
			}
		})
	}
}
