//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urlget/urlget/queue/jetstream/embedded"
)

// queueWorkers is the number of workers that share the transfers of one process.
const queueWorkers = 3

// BenchmarkQueue retrieves files of 4 KiB with one process and, in turn, with three workers of a
// queue with the same number of transfers. The queue has an embedded server in a process of its
// own. The target for the workers is 0.9 times the throughput of the one process.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench Queue -benchtime 3x ./queue/cmd/urlget-queue
func BenchmarkQueue(b *testing.B) {
	programs := b.TempDir()
	if out, err := exec.Command("go", "build", "-o", programs, "github.com/urlget/urlget/cmd/urlget", ".").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	for _, c := range []struct {
		hosts, perHost, count int
		takes                 time.Duration
	}{
		{12, 2, 5000, 0},
		{12, 2, 5000, 20 * time.Millisecond},
		{1, 12, 5000, 0},
		{1, 12, 5000, 20 * time.Millisecond},
		{1, 2, 1000, 20 * time.Millisecond},
	} {
		b.Run(fmt.Sprintf("hosts=%d/per-host=%d/takes=%v", c.hosts, c.perHost, c.takes), func(b *testing.B) {
			urls := filepath.Join(b.TempDir(), "urls")
			writeQueueList(b, urls, smallFiles(b, c.hosts, c.takes), c.count)
			q := &queueBench{programs, urls, c.count, c.perHost}
			var one, many queueUsage
			round := func() {
				one.add(b, q.one)
				many.add(b, q.many)
			}
			round() // not counted
			one, many = queueUsage{}, queueUsage{}
			for b.Loop() {
				round()
			}
			b.ReportMetric(0, "ns/op")
			one.report(b, "one")
			many.report(b, "workers")
			b.ReportMetric(many.server.Seconds()/float64(many.runs), "cpu-server")
			b.ReportMetric(one.wall.Seconds()/many.wall.Seconds(), "speed-of-one")
			extra := (many.wall - one.wall) / time.Duration(many.runs*c.count)
			b.ReportMetric(float64(extra.Microseconds()), "us-more-per-job")
		})
	}
}

// smallFiles serves different files of 4 KiB on several loopback addresses, and delays each
// response. It returns the base URLs.
func smallFiles(b *testing.B, hosts int, takes time.Duration) (bases []string) {
	b.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(takes)
		w.Header().Set("Content-Length", "4096")
		line := fmt.Sprintf("%-64s", r.Host+r.URL.Path)
		io.WriteString(w, strings.Repeat(line, 4096/len(line)))
	})
	for i := range hosts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", i+1))
		if err != nil {
			b.Fatal(err)
		}
		s := &http.Server{Handler: handler}
		go s.Serve(l)
		b.Cleanup(func() { s.Close() })
		bases = append(bases, "http://"+l.Addr().String())
	}
	return bases
}

// writeQueueList writes a list of the files of all hosts, in a random but fixed order.
func writeQueueList(b *testing.B, name string, bases []string, count int) {
	b.Helper()
	lines := make([]string, count)
	for i := range lines {
		lines[i] = fmt.Sprintf("%s/file-%05d\n", bases[i%len(bases)], i)
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(count, func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
		b.Fatal(err)
	}
}

// queueUsage is the wall time and CPU time of the rounds, and the CPU time of the queue's server.
type queueUsage struct {
	runs              int
	wall, cpu, server time.Duration
}

func (u *queueUsage) add(b *testing.B, f func(dir string) (queueUsage, error)) {
	b.Helper()
	dir, err := os.MkdirTemp(b.TempDir(), "run")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	got, err := f(dir)
	if err != nil {
		b.Fatal(err)
	}
	u.runs++
	u.wall += got.wall
	u.cpu += got.cpu
	u.server += got.server
}

func (u *queueUsage) report(b *testing.B, name string) {
	b.ReportMetric(u.wall.Seconds()/float64(u.runs), "s-"+name)
	b.ReportMetric(u.cpu.Seconds()/float64(u.runs), "cpu-"+name)
}

// A queueBench is a list of files to retrieve.
type queueBench struct {
	programs, urls string
	count, perHost int
}

// atOnce is the number of simultaneous transfers.
const atOnce = 12

func (q *queueBench) one(dir string) (u queueUsage, err error) {
	cmd := exec.Command(filepath.Join(q.programs, "urlget"), "-q", "--no-config", "-P", dir, "-i", q.urls,
		"-j", fmt.Sprint(atOnce), "--per-host", fmt.Sprint(q.perHost))
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return u, fmt.Errorf("urlget: %w\n%s", err, out)
	}
	u.wall, u.cpu = time.Since(start), used(cmd)
	files, err := os.ReadDir(dir)
	if len(files) != q.count {
		return u, fmt.Errorf("%d files, want %d: %v", len(files), q.count, err)
	}
	return u, nil
}

func used(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// many fills a queue and runs workers until the last result is there.
func (q *queueBench) many(dir string) (u queueUsage, err error) {
	program, place := filepath.Join(q.programs, "urlget-queue"), filepath.Join(dir, "queue")
	if out, err := exec.Command(program, "submit", "-q", "--embedded", place, "-i", q.urls).CombinedOutput(); err != nil {
		return u, fmt.Errorf("submit: %w\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	server := exec.CommandContext(ctx, program, "queue", "results", "--embedded", place, "-f")
	results, err := server.StdoutPipe()
	if err != nil {
		return u, err
	}
	if err := server.Start(); err != nil {
		return u, err
	}
	defer func() {
		end(server)
		u.server = used(server)
	}()
	url := ""
	for url == "" {
		if url, _ = embedded.Find(place); url == "" && ctx.Err() != nil {
			return u, errors.New("server did not start")
		}
		time.Sleep(10 * time.Millisecond)
	}
	start := time.Now()
	var workers []*exec.Cmd
	defer func() {
		for _, w := range workers {
			end(w)
			u.cpu += used(w)
		}
	}()
	for i := range queueWorkers {
		w := exec.CommandContext(ctx, program, "work", "--nats", url, "-j", fmt.Sprint(atOnce/queueWorkers),
			"--per-host", fmt.Sprint(q.perHost), "--allow-private", "--artefacts", filepath.Join(dir, "kept"))
		logs, err := os.Create(filepath.Join(dir, fmt.Sprint("log-", i)))
		if err != nil {
			return u, err
		}
		defer logs.Close()
		w.Stderr = logs
		if err := w.Start(); err != nil {
			return u, err
		}
		workers = append(workers, w)
	}
	saved, lines := 0, bufio.NewScanner(results)
	for n := 0; n < q.count && lines.Scan(); n++ {
		if strings.Contains(lines.Text(), `"event":"saved"`) {
			saved++
		}
	}
	u.wall = time.Since(start)
	if saved != q.count {
		log, _ := os.ReadFile(filepath.Join(dir, "log-0"))
		return u, fmt.Errorf("%d files, want %d: %v\n%s", saved, q.count, lines.Err(), log[:min(len(log), 2000)])
	}
	return u, nil
}

// end interrupts a program and waits for it.
func end(cmd *exec.Cmd) {
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
}
