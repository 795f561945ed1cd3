//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A usage is the cost of several runs of a program.
type usage struct {
	runs      int
	wall, cpu time.Duration
	peak      int64 // KiB
}

func (u *usage) add(cmd *exec.Cmd, begin time.Time) {
	u.runs++
	u.wall += time.Since(begin)
	u.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.peak = max(u.peak, int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss))
}

// compareRecording runs the command in turn without recording, with recording, and with recording
// uncompressed. It reports the wall time, the CPU time and their ratios to the run without
// recording. The first round is not counted.
func compareRecording(b *testing.B, args ...string) map[string]*usage {
	b.Helper()
	program := filepath.Join(b.TempDir(), "urlget")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/urlget").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	kinds := []struct {
		name string
		args []string
	}{{"without", nil}, {"warc", []string{"--warc", "a"}}, {"plain", []string{"--warc", "a", "--no-warc-compression"}}}
	cost := make(map[string]*usage)
	round := func() {
		for _, k := range kinds {
			dir, err := os.MkdirTemp(b.TempDir(), "run")
			if err != nil {
				b.Fatal(err)
			}
			cmd := exec.Command(program, append(append([]string{"-q", "--no-config", "-P", "out"}, k.args...), args...)...)
			cmd.Dir = dir
			begin := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%s: %v\n%s", k.name, err, out)
			}
			if cost[k.name] == nil {
				cost[k.name] = &usage{}
			}
			cost[k.name].add(cmd, begin)
			os.RemoveAll(dir)
		}
	}
	round()
	clear(cost)
	for b.Loop() {
		round()
	}
	b.ReportMetric(0, "ns/op")
	base := cost["without"]
	for _, k := range kinds {
		u := cost[k.name]
		b.ReportMetric(u.wall.Seconds()/float64(u.runs), "s-"+k.name)
		b.ReportMetric(u.cpu.Seconds()/float64(u.runs), "cpu-"+k.name)
		if u != base {
			b.ReportMetric(float64(u.wall)/float64(base.wall), "of-without-"+k.name)
			b.ReportMetric(float64(u.cpu)/float64(base.cpu), "cpu-of-without-"+k.name)
		}
	}
	return cost
}

// BenchmarkArchiveMany records 5,000 files of 4 KiB, a quarter of which are incompressible. The
// target is 1.5 times the time without recording.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench ArchiveMany -benchtime 5x ./bench
func BenchmarkArchiveMany(b *testing.B) {
	root := b.TempDir()
	fillSmall(b, root, 5000, 4<<10)
	noise := rand.NewChaCha8([32]byte{})
	content := bytes.Repeat([]byte("A pear is a fruit. The quick brown fox.\n"), 103)[:4<<10]
	for i := range 5000 {
		noise.Read(content[:1<<10])
		if err := os.WriteFile(filepath.Join(root, "many", fmt.Sprintf("file-%05d", i)), content, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	base, _ := startNginx(b, root, "127.0.0.1", "127.0.0.1")
	compareRecording(b, "-j", "8", "--per-host", "8", "-i", writeList(b, base, 5000).urls)
}

// BenchmarkArchiveLarge records a file of 1 GiB, half of which is incompressible. The targets are
// 200 MB/s on one core and constant memory.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench ArchiveLarge -benchtime 3x ./bench
func BenchmarkArchiveLarge(b *testing.B) {
	root := b.TempDir()
	f, err := os.Create(filepath.Join(root, "file"))
	if err != nil {
		b.Fatal(err)
	}
	noise := rand.NewChaCha8([32]byte{})
	content := bytes.Repeat([]byte("A pear is a fruit. The quick brown fox.\n"), 1<<20/40+1)[:1<<20]
	for range 1 << 10 {
		noise.Read(content[:512<<10])
		if _, err := f.Write(content); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	base, _ := startNginx(b, root, "127.0.0.1", "127.0.0.1")
	for name, u := range compareRecording(b, base+"/file") {
		b.ReportMetric(float64(u.runs)*1073.741824/u.cpu.Seconds(), "MB/cpu-s-"+name)
		b.ReportMetric(float64(u.peak)/1024, "MiB-peak-"+name)
	}
}
