//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkQueueCost reports the processor time of all processes of a queue for 1,000 files of 4 KiB:
// submit, the workers, and NATS servers as processes of their own. "servers" is the part of the servers.
//
//	TMPDIR=/dev/shm go test -run '^$' -bench QueueCost -benchtime 3x ./queue/cmd/urlget-queue
func BenchmarkQueueCost(b *testing.B) {
	programs := b.TempDir()
	out, err := exec.Command("go", "build", "-o", programs, ".", "github.com/nats-io/nats-server/v2").CombinedOutput()
	if err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	const files = 6000
	for _, c := range []struct{ servers, workers, hosts int }{{1, 1, 6}, {1, 1, 40}, {3, 3, 6}, {3, 3, 40}} {
		b.Run(fmt.Sprintf("servers=%d/workers=%d/hosts=%d", c.servers, c.workers, c.hosts), func(b *testing.B) {
			urls := filepath.Join(b.TempDir(), "urls")
			writeQueueList(b, urls, smallFiles(b, c.hosts, 0), files)
			var all, servers, submit time.Duration
			for b.Loop() {
				n := startServers(b, filepath.Join(programs, "nats-server"), c.servers)
				q := &costRun{b: b, program: filepath.Join(programs, "urlget-queue"), nats: n.url}
				before, start := n.used(), time.Now()
				q.run("submit", "-q", "-i", urls)
				submit += time.Since(start)
				q.work(c.workers)
				if got := q.run("queue", "results"); strings.Count(got, `"event":"saved"`) != files {
					b.Fatalf("%d files, want %d", strings.Count(got, `"event":"saved"`), files)
				}
				servers += n.used() - before
				all += q.cpu + n.used() - before
				n.stop()
			}
			b.ReportMetric(0, "ns/op")
			per := float64(b.N) * files / 1000
			b.ReportMetric(all.Seconds()/per, "cpu-s/1000")
			b.ReportMetric(servers.Seconds()/per, "servers-s/1000")
			b.ReportMetric(submit.Seconds()/per, "submit-s/1000")
		})
	}
}

// A costRun runs programs and adds their processor time.
type costRun struct {
	b             *testing.B
	program, nats string
	cpu           time.Duration
}

func (q *costRun) command(args ...string) *exec.Cmd {
	cmd := exec.Command(q.program, args...)
	cmd.Env = append(os.Environ(), "URLGET_NATS="+q.nats)
	return cmd
}

func (q *costRun) run(args ...string) string {
	cmd := q.command(args...)
	out, err := cmd.Output()
	if err != nil {
		q.b.Fatalf("%v: %v", args, err)
	}
	q.cpu += used(cmd)
	return string(out)
}

// work runs workers with a total of atOnce jobs until the queue is empty.
func (q *costRun) work(n int) {
	dir := q.b.TempDir()
	workers := make([]*exec.Cmd, n)
	for i := range workers {
		workers[i] = q.command("work", "-j", fmt.Sprint(atOnce/n), "--allow-private", "--artefacts", dir, "--until-empty")
		if err := workers[i].Start(); err != nil {
			q.b.Fatal(err)
		}
	}
	for _, w := range workers {
		if err := w.Wait(); err != nil {
			q.b.Error(err)
		}
		q.cpu += used(w)
	}
}

type natsServers struct {
	url   string
	procs []*exec.Cmd
}

// startServers starts a server or a cluster, and waits until it has a leader.
func startServers(b *testing.B, program string, n int) *natsServers {
	b.Helper()
	var routes, urls []string
	for range n {
		routes, urls = append(routes, "nats://"+freeAddress(b)), append(urls, "nats://"+freeAddress(b))
	}
	s := &natsServers{url: strings.Join(urls, ",")}
	for i := range n {
		args := []string{"-n", fmt.Sprint("n", i), "-js", "-sd", b.TempDir(), "-a", "127.0.0.1",
			"-p", urls[i][strings.LastIndexByte(urls[i], ':')+1:]}
		if n > 1 {
			args = append(args, "--cluster_name", "c", "--cluster", routes[i], "--routes", strings.Join(routes, ","))
		}
		cmd := exec.Command(program, args...)
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		s.procs = append(s.procs, cmd)
		b.Cleanup(func() { end(cmd) })
	}
	q := &costRun{b: b, program: filepath.Join(filepath.Dir(program), "urlget-queue"), nats: s.url}
	for begun := time.Now(); q.command("queue", "create", "--replicas", fmt.Sprint(n)).Run() != nil; {
		if time.Since(begun) > 2*time.Minute {
			b.Fatal("the servers do not respond")
		}
	}
	return s
}

func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// used returns the processor time of the servers so far, from proc_pid_stat(5).
func (s *natsServers) used() (total time.Duration) {
	for _, p := range s.procs {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
			n, _ := strconv.Atoi(field)
			total += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return total
}

func (s *natsServers) stop() {
	for _, p := range s.procs {
		end(p)
	}
}
