package crawl

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

var (
	frontierFlag = flag.Int("frontier", 0, "number of URLs that TestFrontierMemory queues; 0 skips it")
	frontierDir  = flag.String("frontier.dir", "", "directory for the state file of TestFrontierMemory")
)

// TestFrontierMemory measures the memory use of a crawl with many queued URLs. New URLs are spread
// over the whole key range. For example:
//
//	go test ./crawl -run FrontierMemory -frontier 10000000 -timeout 1h -v
func TestFrontierMemory(t *testing.T) {
	total := *frontierFlag
	if total == 0 {
		t.Skip("set -frontier N to measure the memory")
	}
	dir := *frontierDir
	if dir == "" {
		dir = t.TempDir()
	}
	st, err := Open(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	st.NoSync()
	if _, err := st.begin([]string{"http://h0.example/"}); err != nil {
		t.Fatal(err)
	}
	const hosts, perDirectory = 5000, 20
	start := time.Now()
	var peak int64
	room := func(string) bool { return true }
	for page := 0; page*perDirectory < total; page++ {
		// Directories are in random order; the pages of one directory follow each other.
		hash := uint64(page) * 0x9e3779b97f4a7c15
		for i := range perDirectory {
			u := uri.MustParse(fmt.Sprintf("http://h%d.example/articles/%016x/page-%d.html", hash>>32%hosts, hash, i))
			from := uri.MustParse(fmt.Sprintf("http://h%d.example/articles/", hash>>32%hosts))
			it := newItem(&Link{URL: u, From: from, Depth: 2, Rel: "a", Size: -1, Save: true})
			if _, err := st.add(it, -1, formOf(u), 1<<30); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			it, err := st.take(room)
			if err != nil {
				t.Fatal(err)
			}
			if it == nil {
				break
			}
			if err := st.finishVisit(it, done, []byte("etag \"0123456789abcdef\" 2026"), -1); err != nil {
				t.Fatal(err)
			}
			st.release(it)
		}
		if n := (page + 1) * perDirectory; n%(total/20) < perDirectory {
			m := memory(t)
			peak = max(peak, m["VmHWM"])
			info, _ := os.Stat(filepath.Join(dir, "state"))
			t.Logf("%d URLs after %v: anonymous memory %d MiB, mapped files %d MiB, peak %d MiB; file size %d MiB", n, time.Since(start).Round(time.Second),
				m["RssAnon"]>>10, m["RssFile"]>>10, m["VmHWM"]>>10, info.Size()>>20)
		}
	}
	if peak>>10 >= 200 {
		t.Errorf("peak memory %d MiB, want less than 200", peak>>10)
	}
}

// memory returns the values in kB of /proc/self/status.
func memory(t *testing.T) map[string]int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skipf("no memory figures on %s: %v", runtime.GOOS, err)
	}
	defer f.Close()
	m := map[string]int64{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		name, value, _ := strings.Cut(sc.Text(), ":")
		m[name], _ = strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
	}
	return m
}
