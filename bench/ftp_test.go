//go:build linux

package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/bench/delay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/ftp"
)

// A rival is a program or function to compare with. It runs in a separate empty directory.
type rival struct {
	name string
	args []string               // of the program
	call func(dir string) error // replaces the program if not nil
}

func (r rival) run(dir string) error {
	if r.call != nil {
		return r.call(dir)
	}
	cmd := exec.Command(r.args[0], r.args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", r.name, err, out)
	}
	return nil
}

// compare runs this module and the rivals in turn. It reports the mean time and the range of each,
// and the ratio of this module's time to each rival's. The first round is not counted, because it
// pays for memory that the machine has not used yet.
func compare(b *testing.B, dir string, ours func(dir string) error, rivals []rival) {
	b.Helper()
	times := make([][]time.Duration, len(rivals)+1)
	measure := func(i int, f func(dir string) error) {
		own, err := os.MkdirTemp(dir, "run")
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		err = f(own)
		times[i] = append(times[i], time.Since(start))
		if err != nil {
			b.Fatal(err)
		}
		os.RemoveAll(own)
	}
	round := func() {
		measure(0, ours)
		for i, r := range rivals {
			measure(i+1, r.run)
		}
	}
	round()
	clear(times)
	for b.Loop() {
		round()
	}
	b.ReportMetric(0, "ns/op")
	report := func(name string, times []time.Duration) float64 {
		var total time.Duration
		for _, d := range times {
			total += d
		}
		mean := total.Seconds() / float64(len(times))
		b.ReportMetric(mean, "s-"+name)
		b.Logf("%s: %.2f to %.2f s, mean %.2f s", name, slices.Min(times).Seconds(), slices.Max(times).Seconds(), mean)
		return mean
	}
	own := report("urlget", times[0])
	for i, r := range rivals {
		b.ReportMetric(own/report(r.name, times[i+1]), "of-"+r.name)
	}
}

// fillSmall writes count files of one size into the folder "many" below root.
func fillSmall(b *testing.B, root string, count, size int) {
	b.Helper()
	if err := os.Mkdir(filepath.Join(root, "many"), 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range count {
		if err := os.WriteFile(filepath.Join(root, "many", fmt.Sprintf("file-%05d", i)), make([]byte, size), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// fillLarge writes a file of 1 GiB below root.
func fillLarge(b *testing.B, root string) {
	b.Helper()
	f, err := os.Create(filepath.Join(root, "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i)
	}
	for range 1 << 10 {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFTPFile retrieves 1 GiB from vsftpd into a file, as curl does. The target is 0.85 times
// its time.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench FTPFile -benchtime 5x ./bench
func BenchmarkFTPFile(b *testing.B) {
	root := b.TempDir()
	fillLarge(b, root)
	url := "ftp://" + startVsftpd(b, root, "127.0.0.1", "127.0.0.1") + "/file"
	compare(b, b.TempDir(), func(dir string) error {
		c := fetch.New(nil, ftp.Load)
		defer c.Close()
		return save(b.Context(), c, url, filepath.Join(dir, "file"))
	}, []rival{{name: "curl", args: []string{"curl", "-s", "-o", "file", url}}})
}

// BenchmarkFTPSmallFiles retrieves 5,000 files of 4 KiB, as wget -r and lftp mirror do. The targets
// are 0.5 and 0.6 times their times. The bare client shows the part that no client can reduce.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench FTPSmallFiles -benchtime 5x ./bench
func BenchmarkFTPSmallFiles(b *testing.B) {
	root := b.TempDir()
	fillSmall(b, root, 5000, 4<<10)
	addr := startVsftpd(b, root, "127.0.0.1", "127.0.0.1")
	url := "ftp://" + addr + "/many/"
	compare(b, b.TempDir(), func(dir string) error { return saveAll(b.Context(), url, dir, 4, 5000) }, []rival{
		{name: "wget", args: []string{"wget", "-q", "-r", "-nH", url}},
		{name: "lftp", args: []string{"lftp", "-c", "mirror --parallel=4 " + url + " ."}},
		{name: "bare", call: func(dir string) error { return bareSmallFiles(addr, dir, 4, 5000) }},
	})
}

// BenchmarkFTPDelay retrieves 200 files of 4 KiB from a server with a round trip of 50 ms, as lftp
// mirror does with 16 connections. The target is half of its time. It needs a network namespace:
//
//	TMPDIR=/dev/shm unshare --net go test -run '^$' -bench FTPDelay -benchtime 3x ./bench
func BenchmarkFTPDelay(b *testing.B) {
	root := b.TempDir()
	fillSmall(b, root, 200, 4<<10)
	delayLink(b, 50*time.Millisecond)
	url := "ftp://" + startVsftpd(b, root, delay.Near, delay.Distant) + "/many/"
	compare(b, b.TempDir(), func(dir string) error { return saveAll(b.Context(), url, dir, 16, 200) }, []rival{
		{name: "lftp", args: []string{"lftp", "-c", "mirror --parallel=16 " + url + " ."}},
	})
}

// save retrieves a URL into a new file.
func save(ctx context.Context, c *fetch.Client, url, name string) error {
	resp, err := c.Get(ctx, url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, resp.Body); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// saveAll lists a directory and retrieves its files, atOnce at a time.
func saveAll(ctx context.Context, url, dir string, atOnce, want int) error {
	c := fetch.New(nil, ftp.With(ftp.Options{MaxConns: atOnce}))
	defer c.Close()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	done := 0
	entries := make(chan fetch.Entry, want)
	for range atOnce {
		wg.Go(func() {
			for e := range entries {
				err := save(ctx, c, e.URL.String(), filepath.Join(dir, filepath.Base(e.Name)))
				mu.Lock()
				if done++; err != nil {
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	for e, err := range c.List(ctx, url) {
		if err != nil {
			failed = err
			break
		}
		entries <- e
	}
	close(entries)
	wg.Wait()
	if failed == nil && done != want {
		failed = fmt.Errorf("%d files, want %d", done, want)
	}
	return failed
}
