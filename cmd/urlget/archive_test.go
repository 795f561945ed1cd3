package main

import (
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

	"github.com/urlget/urlget/fetch/warc"
	"github.com/urlget/urlget/internal/warccheck"
)

// TestArchivesSurviveBeingKilled kills the command while it records, in the middle of any of its
// requests, and lets it go on with the same archive. URLGET_KILLS sets how often.
func TestArchivesSurviveBeingKilled(t *testing.T) {
	t.Parallel()
	kills := 10
	if n, err := strconv.Atoi(os.Getenv("URLGET_KILLS")); err == nil {
		kills = n
	}
	var countdown atomic.Int64
	var kill atomic.Value // of func()
	kill.Store(func() {})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := countdown.Add(-1) == 0
		w.Header().Set("Content-Length", "100000")
		for range 10 {
			if last && rand.IntN(20) == 0 {
				kill.Load().(func())()
			}
			if _, err := io.WriteString(w, strings.Repeat(r.URL.Path, 10000/len(r.URL.Path)+1)[:10000]); err != nil {
				return
			}
		}
		if last {
			kill.Load().(func())()
		}
	}))
	defer site.Close()
	dir := t.TempDir()
	var urls []string
	for i := range 20 {
		urls = append(urls, fmt.Sprintf("%s/%d", site.URL, i))
	}
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte(strings.Join(urls, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "a.warc.gz")
	whole := 0
	for i := range kills + 1 {
		cmd := urlget("-q", "-c", "--warc", archive, "-P", filepath.Join(dir, fmt.Sprint("out", i)), "-i", list)
		if i < kills {
			started := make(chan struct{})
			kill.Store(func() { <-started; cmd.Process.Kill() })
			countdown.Store(1 + rand.Int64N(int64(len(urls))))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			close(started)
			cmd.Wait()
		} else {
			countdown.Store(-1)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		records, damage := survey(t, archive)
		if records < whole {
			t.Fatalf("after %d kills there are %d records, and before there were %d", i+1, records, whole)
		}
		if damage > 1 {
			t.Fatalf("after %d kills %d places are damaged", i+1, damage)
		}
		whole = records
	}
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

// survey returns how many whole records there are, and how many damaged places.
func survey(t *testing.T, path string) (records, damage int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		return 0, 0 // it was killed early
	}
	defer f.Close()
	r, err := warc.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return records, damage
		}
		if err != nil {
			damage++
			continue
		}
		if _, err := io.Copy(io.Discard, rec.Block); err == nil {
			records++
		}
	}
}
