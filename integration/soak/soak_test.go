//go:build integration

// Package soak downloads for minutes from all servers of the lab, 64 files at a time, over
// connections that fail at random, and cancels some downloads:
//
//	go test -v -tags integration ./integration/soak -soak 3m -wan
//
// With -wan, a third of the downloads uses a link with delay, loss and small packets.
//
// Every complete file must equal its source. At the end, goroutines, file descriptors and memory
// must be back at their initial level.
package soak

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetchtest/faultproxy"
	"github.com/urlget/urlget/integration/wan"
)

var (
	duration = flag.Duration("soak", 10*time.Second, "duration of the test")
	distant  = flag.Bool("wan", false, "also use a slow link: requires root and a TUN device")
)

const (
	workers     = 64
	longest     = 2 * time.Minute // limit of the time of a download
	memorySlack = 8 << 20         // allowed growth of memory in bytes
	maxWait     = 20 * time.Second
	most        = 1 << 20 // limit of the bytes of a file over the slow link
)

var errHang = errors.New("the download hangs")

// hangReported limits the report of a hanging download to one.
var hangReported sync.Once

// A site is a client with its connections to the servers.
type site struct {
	proxy  *faultproxy.Proxy // nil for the slow link without faults
	client *fetch.Client
	// guarded is set if bytes may be changed. Then each download has a checksum.
	guarded bool
	// slow is set if large files take minutes.
	slow bool
}

// newSite returns a client whose connections have faults of these kinds.
func newSite(guarded bool, kinds ...faultproxy.Kind) *site {
	p := &faultproxy.Proxy{Pick: func() faultproxy.Fault {
		after := rand.Int64N(1 << rand.IntN(24))
		return faultproxy.Fault{Kind: kinds[rand.IntN(len(kinds))], After: after, Delay: time.Duration(rand.IntN(2000)) * time.Microsecond}
	}}
	return &site{proxy: p, client: newClient(p.DialContext), guarded: guarded}
}

func (s *site) close() {
	s.client.Close()
	if s.proxy != nil {
		s.proxy.Close()
	}
}

func TestSoak(t *testing.T) {
	targets := startTargets(t)
	dir, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	quiet := newSite(false, faultproxy.None)
	for i := range targets {
		if err := targets[i].learn(t.Context(), quiet.client); err != nil {
			t.Errorf("without any fault: %v", err)
		}
	}
	quiet.close()
	if t.Failed() {
		return
	}

	before := settled(usage{})
	figures := tally{classes: map[fetch.Code]int{}}
	// Most connections have no fault; otherwise none would ever be pooled.
	undamaged := append(slices.Repeat([]faultproxy.Kind{faultproxy.None}, 6), faultproxy.Delay, faultproxy.Chop,
		faultproxy.Stall, faultproxy.Cut, faultproxy.Reset, faultproxy.HalfClose)
	sites := []*site{newSite(false, undamaged...), newSite(true, append(undamaged, faultproxy.Flip, faultproxy.Duplicate)...)}
	var link *wan.Link
	if *distant {
		link = wan.Open(t, wan.Far)
		sites = append(sites, &site{client: newClient(link.DialContext), slow: true})
	}
	start := time.Now()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			w := worker{t: t, dir: dir, name: fmt.Sprint("file", i), figures: &figures}
			for time.Since(start) < *duration && !t.Failed() {
				s, to := sites[rand.IntN(len(sites))], targets[rand.IntN(len(targets))]
				if !s.slow || len(to.want) <= most {
					w.download(s, to)
				}
			}
		})
	}
	stop := make(chan struct{})
	peak := make(chan usage)
	go func() { peak <- watch(stop) }()
	wg.Wait()
	close(stop)
	struck := 0
	for _, s := range sites {
		if s.proxy != nil {
			struck += s.proxy.Struck()
		}
		s.close()
	}
	if link != nil {
		link.Close()
	}
	highest := <-peak
	after := settled(before)
	fmt.Printf("%v in %v, %d connections disturbed\nstart %v\npeak  %v\nend   %v\n",
		&figures, time.Since(start).Round(time.Second), struck, before, highest, after)
	if link != nil {
		passed, lost := link.Packets()
		fmt.Printf("a long way: %d packets passed, %d were lost\n", passed, lost)
	}
	if !after.within(before) {
		t.Errorf("%v are left of %v", after, before)
	}
	if figures.whole == 0 || struck == 0 {
		t.Error("nothing was tested")
	}
}

// A worker downloads one file after the other.
type worker struct {
	t       *testing.T
	dir     *os.Root
	name    string
	figures *tally
}

// download retrieves a target, sometimes in two runs.
func (w worker) download(s *site, to target) {
	opts := &download.Options{Exists: download.Resume, Retry: retry.Policy{Tries: 3, Wait: 10 * time.Millisecond}, Segments: rand.IntN(4)}
	if s.guarded {
		opts.Checksum = to.checksum()
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), longest, errHang)
	defer cancel()
	d := download.Downloader{Client: s.client, Root: w.dir}
	defer d.Flush()
	// The goroutines are printed before the context ends all waits.
	hanging := time.AfterFunc(longest-5*time.Second, func() {
		hangReported.Do(func() {
			fmt.Printf("%s takes long. The goroutines:\n", to.url)
			pprof.Lookup("goroutine").WriteTo(os.Stdout, 2)
		})
	})
	defer hanging.Stop()
	first, stop := ctx, context.CancelFunc(func() {})
	if rand.IntN(5) == 0 {
		first, stop = context.WithCancel(ctx)
		timer := time.AfterFunc(time.Duration(rand.IntN(200))*time.Millisecond, stop)
		defer timer.Stop()
	}
	defer stop()
	for _, c := range []context.Context{first, ctx} {
		res, err := d.Get(c, to.url, w.name, opts)
		w.judge(s, to, res, err)
		if err == nil {
			break
		}
	}
	for _, suffix := range []string{"", ".part", ".part.json"} {
		if err := w.dir.Remove(w.name + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.t.Error(err)
		}
	}
}

// judge checks the outcome of a run.
func (w worker) judge(s *site, to target, res *download.Result, err error) {
	got, readErr := w.dir.ReadFile(w.name)
	switch code := fetch.CodeOf(err); {
	case err != nil && (code == "" || errors.Is(err, errHang)):
		w.t.Errorf("%s: %v", to.url, err)
	case err != nil && !errors.Is(readErr, fs.ErrNotExist):
		w.t.Errorf("%s: file exists after %v", to.url, err)
	case err != nil && !s.guarded && !slices.Contains(expected, code) && !noPassivePort.MatchString(err.Error()):
		w.t.Errorf("%s: class %q: %v", to.url, code, err)
	case err != nil:
		w.figures.failed(code)
	case readErr != nil:
		w.t.Errorf("%s: %+v: %v", to.url, res, readErr)
	case bytes.Equal(got, to.want):
		w.figures.completed(len(got))
	case res.Meta.Framing == fetch.FramedByClose && len(got) < len(to.want) && bytes.HasPrefix(to.want, got):
		w.figures.unverifiable()
	default:
		w.t.Errorf("%s: a wrong file: %s", to.url, difference(got, to.want))
	}
}

// difference describes the first difference between two contents, and the source of the wrong
// bytes.
func difference(got, want []byte) string {
	n := min(len(got), len(want))
	first := 0
	for first < n && got[first] == want[first] {
		first++
	}
	last := n
	for last > first && got[last-1] == want[last-1] {
		last--
	}
	sample := got[first:min(first+32, len(got))]
	return fmt.Sprintf("%d bytes in place of %d, other ones from %d to %d, which begin as those at %d: %x",
		len(got), len(want), first, last, bytes.Index(want, sample), sample)
}

// expected are the error classes without changed bytes. With 64 connections, some servers are busy.
// A reply that is cut off in its first line may look like a protocol error.
var expected = []fetch.Code{fetch.ErrNetwork, fetch.ErrTruncated, fetch.ErrTLS, fetch.ErrBusy, fetch.ErrProtocol, fetch.ErrInterrupted}

// noPassivePort matches vsftpd's last reply in a session without a passive port. vsftpd tries ten
// of the lab's 25 ports at random, or another session has just taken the port.
var noPassivePort = regexp.MustCompile("500 OOPS: (priv_sock_get|vsf_sysutil_bind)")

// watch returns the highest usage until stop is closed.
func watch(stop <-chan struct{}) usage {
	var most usage
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		now := current()
		most = usage{max(most.goroutines, now.goroutines), max(most.files, now.files), max(most.heap, now.heap)}
		select {
		case <-tick.C:
		case <-stop:
			return most
		}
	}
}

// settled returns the usage once it is within want, or after a timeout.
func settled(want usage) usage {
	for deadline := time.Now().Add(maxWait); ; {
		runtime.GC()
		now := current()
		if now.within(want) || want == (usage{}) || time.Now().After(deadline) {
			return now
		}
		time.Sleep(50 * time.Millisecond)
	}
}
