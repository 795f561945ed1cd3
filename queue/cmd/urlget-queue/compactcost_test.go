//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/queuetest"
)

var compacted = flag.Int("compacted", 200_000, "number of `pages` that BenchmarkCompaction moves")

// BenchmarkCompaction moves the pages and results of a crawl from a server to a directory. It reports the
// memory of a server that has just started, its files, and what pages and results cost to move and to look up,
// and results to print.
//
//	TMPDIR=/var/tmp go test -run '^$' -bench Compaction -benchtime 1x -timeout 1h ./queue/cmd/urlget-queue \
//		-compacted 10000000
func BenchmarkCompaction(b *testing.B) {
	programs := b.TempDir()
	out, err := exec.Command("go", "build", "-o", programs, ".", "github.com/nats-io/nats-server/v2").CombinedOutput()
	if err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	c := &compactCost{b: b, programs: programs, dir: b.TempDir(), store: b.TempDir(), address: freeAddress(b)}
	defer func() { end(c.server) }()
	for b.Loop() {
		c.start()
		c.crawl = c.begin()
		c.fill(*compacted)
		c.start() // without the IDs of the last two minutes
		c.report("before")
		c.print("before")
		c.compact()
		c.start()
		c.report("after")
		c.print("after")
	}
	b.ReportMetric(0, "ns/op")
}

type compactCost struct {
	b                             *testing.B
	programs, dir, store, address string
	server                        *exec.Cmd
	crawl                         *queue.Crawl
}

func (c *compactCost) begin() *queue.Crawl {
	e := c.open()
	defer e.Close()
	crawl, _, err := queue.StartCrawl(c.b.Context(), e, &queue.Crawl{Scope: crawl.Scope{MaxDepth: -1}})
	if err != nil {
		c.b.Fatal(err)
	}
	return crawl
}

// start starts the server, again if it runs.
func (c *compactCost) start() {
	if c.server != nil {
		end(c.server)
	}
	_, port, _ := strings.Cut(c.address, ":")
	c.server = exec.Command(filepath.Join(c.programs, "nats-server"), "-js", "-sd", c.dir, "-a", "127.0.0.1", "-p", port)
	if err := c.server.Start(); err != nil {
		c.b.Fatal(err)
	}
	c.open().Close()
}

func (c *compactCost) open() *jetstream.Engine {
	for begun := time.Now(); ; time.Sleep(time.Second) {
		e, err := jetstream.Open(c.b.Context(), jetstream.Options{URL: "nats://" + c.address, Crawl: "c", Wait: true})
		if err == nil {
			return e
		}
		if time.Since(begun) > 5*time.Minute {
			c.b.Fatal(err)
		}
	}
}

func pageURL(i int) uri.URI {
	return uri.MustParse(fmt.Sprintf("http://www%d.example/some/path/to/a/file-%09d.html", i%1000, i))
}

// pageID returns the ID that the crawl gives to a page.
func (c *compactCost) pageID(i int) string {
	sum := sha256.Sum256([]byte(c.crawl.Token + "\n" + pageURL(i).Key()))
	return hex.EncodeToString(sum[:16])
}

// fill adds pages and results as workers do.
func (c *compactCost) fill(n int) {
	begun := time.Now()
	conn, err := nats.Connect("nats://" + c.address)
	if err != nil {
		c.b.Fatal(err)
	}
	defer conn.Close()
	stream, err := js.New(conn, js.WithPublishAsyncMaxPending(4000))
	if err != nil {
		c.b.Fatal(err)
	}
	for i := range n {
		id := c.pageID(i)
		data := fmt.Appendf(nil, `{"event":"saved","url":%q,`+
			`"time":%q,"status":200,"bytes":%d,"path":"sha256/%.1x/%[4]x","sha256":"%[4]x","seconds":0.%06[5]d,`+
			`"rate":%[6]d,"id":%[7]q,"key":"%.20[8]x","worker":"machine-%[9]d/12345"}`, pageURL(i).String(),
			begun.Add(time.Duration(i)*time.Millisecond).UTC().Format(time.RFC3339Nano), 1000+i%100_000,
			sha256.Sum256([]byte(id)), i%1_000_000, i%65_536, id, sha512.Sum512([]byte(id)), i%20)
		for subject, data := range map[string][]byte{
			"urlget.crawl.c.pages.page/" + id: fmt.Appendf(nil, `{"d":%d,"x":%d}`, i%20, i%20+1),
			"urlget.crawl.c.results." + id:    data,
		} {
			_, err := stream.PublishAsync(subject, data, js.WithMsgID(subject), js.WithExpectLastSequencePerSubject(0),
				js.WithStallWait(time.Minute))
			if err != nil {
				c.b.Fatal(err)
			}
		}
	}
	<-stream.PublishAsyncComplete()
	c.b.Logf("added %d pages and results in %v", n, time.Since(begun).Round(time.Second))
}

// report reports the memory of the server and the size of its files and of the store.
func (c *compactCost) report(when string) {
	time.Sleep(10 * time.Second)
	c.b.ReportMetric(memoryOf(c.server, "VmRSS"), "MiB-memory-"+when)
	c.b.ReportMetric(sizeOf(c.dir)/(1<<20), "MiB-server-"+when)
	c.b.ReportMetric(sizeOf(c.store)/(1<<20), "MiB-store-"+when)
}

// memoryOf returns a field of the status of a process, in MiB; 0 if the process has ended.
func memoryOf(cmd *exec.Cmd, field string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	_, value, found := strings.Cut(string(text), field+":")
	if !found {
		return 0
	}
	kib, _ := strconv.Atoi(strings.Fields(value)[0])
	return float64(kib) / 1024
}

func sizeOf(dir string) (bytes float64) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if info, problem := e.Info(); err == nil && problem == nil && !e.IsDir() {
			bytes += float64(info.Size())
		}
		return nil
	})
	return bytes
}

func (c *compactCost) cpu() time.Duration {
	var own syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	return time.Duration(own.Utime.Nano()+own.Stime.Nano()) + (&natsServers{procs: []*exec.Cmd{c.server}}).used()
}

// print runs "queue results".
func (c *compactCost) print(when string) {
	begun, cpu := time.Now(), c.cpu()
	cmd := exec.Command(filepath.Join(c.programs, "urlget-queue"), "queue", "results", "--nats", "nats://"+c.address,
		"--crawl", "c", "--artefacts", c.store)
	if err := cmd.Start(); err != nil {
		c.b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	peak, running := 0.0, true // the usage that Wait returns has the peak of this process, too
	for running {
		select {
		case err := <-ended:
			if running = false; err != nil {
				c.b.Fatal(err)
			}
		case <-time.After(50 * time.Millisecond):
			peak = max(peak, memoryOf(cmd, "VmHWM"))
		}
	}
	c.b.ReportMetric(time.Since(begun).Seconds(), "s-results-"+when)
	c.b.ReportMetric((c.cpu() - cpu + used(cmd)).Seconds(), "cpu-results-"+when)
	c.b.ReportMetric(peak, "MiB-results-"+when)
}

func (c *compactCost) compact() {
	ctx := c.b.Context()
	e := c.open()
	defer e.Close()
	s, err := queue.OpenDir(c.store)
	if err != nil {
		c.b.Fatal(err)
	}
	defer s.Close()
	old := queuetest.Age(e, 2*queue.MinAge)
	begun, cpu := time.Now(), c.cpu()
	done, err := (&queue.Compaction{Age: queue.MinAge}).Run(ctx, old, s)
	if err != nil {
		c.b.Fatal(err)
	}
	c.b.ReportMetric(time.Since(begun).Seconds(), "s-compact")
	c.b.ReportMetric((c.cpu() - cpu).Seconds(), "cpu-compact")
	c.b.ReportMetric(float64(done.Segments), "segments")
	c.b.Logf("%+v", done)
	open := func(context.Context) (queue.Store, error) { return s, nil }
	r := &queue.Results{Engine: old, Store: open}
	const lookups = 200
	each := func(unit string, do func(i int) error) {
		begun := time.Now()
		for i := range lookups {
			if err := do(i * (*compacted / lookups)); err != nil {
				c.b.Fatal(err)
			}
		}
		c.b.ReportMetric(float64(time.Since(begun).Microseconds())/1000/lookups, unit)
	}
	each("ms-result", func(i int) error {
		_, err := r.Get(ctx, c.pageID(i), time.Time{})
		return err
	})
	found, _, err := queue.StartCrawl(ctx, old, &queue.Crawl{Store: open})
	if err != nil {
		c.b.Fatal(err)
	}
	each("ms-page", func(i int) error {
		known, err := found.Submit(ctx, old, queue.Normal, pageURL(i), fetch.Traits{})
		if err == nil && !known {
			err = fmt.Errorf("page %d is new", i)
		}
		return err
	})
	var own syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	c.b.ReportMetric(float64(own.Maxrss)/1024, "MiB-compact")
}
