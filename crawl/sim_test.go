package crawl_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is a driver with simulated hosts, whose pages link to each other. Its responses depend
// only on the seed and on the requests, so that a seed reproduces a run.
type world struct {
	seed        uint64
	links       map[string][]string // by URL
	latency     int                 // maximum, in milliseconds
	refuseOneIn int                 // one in this many requests is refused; 0 for none
	step        func()              // called before and after the wait for each response

	mu         sync.Mutex
	attempts   map[string]int // attempts by URL
	responses  map[string]int // responses by URL
	running    map[string]int // concurrent requests by host
	maxRunning map[string]int
}

// dice returns a number from 0 to below n for one attempt at a URL.
func (w *world) dice(url string, attempt, n int) int {
	h := fnv.New64a()
	fmt.Fprint(h, w.seed, url, attempt, n)
	return int(h.Sum64() >> 16 % uint64(n))
}

func (w *world) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	host, url := req.URL.Host(), req.URL.String()
	w.step()
	w.mu.Lock()
	w.attempts[url]++
	attempt := w.attempts[url]
	w.running[host]++
	w.maxRunning[host] = max(w.maxRunning[host], w.running[host])
	pause := time.Duration(w.dice(url, attempt, w.latency+1)) * time.Millisecond
	refused := w.refuseOneIn > 0 && w.dice(url, attempt, w.refuseOneIn) == 0
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.running[host]--
		w.mu.Unlock()
	}()
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w.step()
	if refused {
		return nil, &fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: time.Duration(w.dice(url, attempt, 4)) * time.Second}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.responses[url]++
	list, ok := w.links[url]
	if !ok {
		return nil, &fetch.Error{Code: fetch.ErrNotFound}
	}
	parts := func(yield func(driver.Part, error) bool) {
		for _, to := range list {
			e := fetch.Entry{URL: uri.MustParse(to), Kind: fetch.EntryListing, Rel: "item", Size: -1}
			if !yield(driver.Part{Text: []byte(to + "\n"), Entries: []fetch.Entry{e}}, nil) {
				return
			}
		}
	}
	resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: -1}, URL: req.URL}
	driver.SetParts(resp, parts, nil)
	return resp, nil
}

func newWorld(r *rand.Rand, hosts, pages int) *world {
	w := &world{seed: r.Uint64(), links: map[string][]string{}, responses: map[string]int{}, running: map[string]int{}, maxRunning: map[string]int{},
		attempts: map[string]int{}, latency: r.IntN(1000), step: func() {}}
	var all []string
	for i := range pages {
		all = append(all, fmt.Sprintf("x-sim://h%d/p%d", r.IntN(hosts), i))
	}
	for i, url := range all {
		w.links[url] = nil
		for range r.IntN(8) {
			w.links[url] = append(w.links[url], all[r.IntN(len(all))])
		}
		if i+1 < len(all) && r.IntN(3) > 0 {
			w.links[url] = append(w.links[url], all[i+1])
		}
	}
	if r.IntN(3) > 0 {
		w.refuseOneIn = 5 + r.IntN(40)
	}
	return w
}

// reachable returns the URLs that can be reached from the seed.
func (w *world) reachable(seed string) map[string]bool {
	seen := map[string]bool{seed: true}
	for todo := []string{seed}; len(todo) > 0; todo = todo[1:] {
		for _, to := range w.links[todo[0]] {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return seen
}

func (w *world) client() *fetch.Client {
	return fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-sim", Ops: []fetch.Op{fetch.OpGet, fetch.OpList}, Driver: w})
	})
}

var (
	simulations = flag.Uint64("simulations", 100, "number of worlds that TestSimulation crawls")
	replay      = flag.Uint64("seed", 0, "simulate only the world of this seed")
)

// TestSimulation crawls simulated worlds, each generated from a seed. The process ends at random
// steps and is restarted. No URL is lost, and none is visited twice unless its visit was active at
// a crash. No host exceeds its limits, and none has to wait while another is visited again and
// again. Every crawl ends.
func TestSimulation(t *testing.T) {
	t.Parallel()
	first, last := uint64(1), *simulations
	if *replay != 0 {
		first, last = *replay, *replay
	}
	dir := t.TempDir()
	empty, size := emptyState(t, dir)
	for part := range uint64(2) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(dir, fmt.Sprint("state", part))
			for seed := first + part; seed <= last; seed += 2 {
				if err := errors.Join(os.WriteFile(file, empty, 0o600), os.Truncate(file, size)); err != nil {
					t.Fatal(err)
				}
				synctest.Test(t, func(t *testing.T) {
					defer func() { // report the seed in the outer test
						if t.Failed() {
							t.Logf("seed %d; to reproduce: go test ./crawl -run Simulation -seed %d", seed, seed)
						}
					}()
					newSimulation(seed, file).run(t)
				})
			}
		})
	}
}

// emptyState returns the beginning and the size of the file of a new state, because creating one takes
// long. The rest of the file is a hole of 16 MiB.
func emptyState(t *testing.T, dir string) (begin []byte, size int64) {
	name := filepath.Join(dir, "empty")
	st, err := crawl.OpenNoSync(name)
	if err != nil {
		t.Fatal(err)
	}
	st.Close()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(data, "\x00"), int64(len(data))
}

// A simulation is a world and the processes that crawl it, one after the other.
type simulation struct {
	*world
	file    string
	rand    *rand.Rand
	first   uri.URI
	opts    schedule.Options
	crashes int

	lock        sync.Mutex // protects the fields below
	stepsLeft   int        // steps until the process crashes; negative for never
	crashed     bool
	kill        func()
	saved       map[string]int
	known       map[string]bool // URLs known to this process
	waiting     map[string]bool // known URLs whose visit has not started
	waitingAt   map[string]int  // number of waiting URLs by host
	visits      map[string]int  // active visits by host
	pausedUntil map[string]time.Time
	readySince  map[string]time.Time      // time from which each host could have been visited
	overtaken   map[string]map[string]int // visits of other hosts since then
	unfair      []string
}

func newSimulation(seed uint64, file string) *simulation {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &simulation{world: newWorld(r, 1+r.IntN(6), 1+r.IntN(60)), file: file, rand: r, saved: map[string]int{}}
	for url := range s.links {
		if u := uri.MustParse(url); u.Path() == "/p0" {
			s.first = u
		}
	}
	s.opts = schedule.Options{Parallel: 1 + r.IntN(8), Host: schedule.Limits{Parallel: 1 + r.IntN(3)}, MaxPause: 10 * time.Second}
	if r.IntN(4) == 0 {
		s.opts.Waiting = 20 + r.IntN(50)
	}
	s.world.step = s.step
	return s
}

var errCrashed = errors.New("simulated crash")

// step is called wherever the process may end.
func (s *simulation) step() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.stepsLeft--; s.stepsLeft == 0 {
		s.crashed = true
		s.kill()
	}
}

func (s *simulation) run(t *testing.T) {
	client := s.client()
	defer client.Close()
	want, start := s.reachable(s.first.String()), time.Now()
	for s.process(t, client) {
		if time.Since(start) > time.Hour {
			t.Fatal("crawl did not end within an hour")
		}
	}
	for url := range want {
		if n := s.responses[url]; n == 0 || n > 1+s.crashes {
			t.Errorf("%s was visited %d times, after %d crashes", url, n, s.crashes)
		}
		if s.crashes == 0 && s.saved[url] != 1 {
			t.Errorf("Ended was called %[2]d times for %[1]s", url, s.saved[url])
		}
	}
	for url := range s.responses {
		if !want[url] {
			t.Errorf("%s was visited, but is not reachable", url)
		}
	}
	for host, n := range s.maxRunning {
		if n > min(s.opts.Host.Parallel, s.opts.Parallel) {
			t.Errorf("%s had %d concurrent requests, limit %d", host, n, s.opts.Host.Parallel)
		}
	}
	for _, text := range s.unfair {
		t.Error(text)
	}
}

// process crawls until the crawl is complete or the process crashes. It reports whether it crashed.
func (s *simulation) process(t *testing.T, client *fetch.Client) (crashed bool) {
	st, err := crawl.OpenNoSync(s.file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.stepsLeft, s.crashed, s.kill = -1, false, cancel
	s.known, s.waiting, s.waitingAt, s.visits = map[string]bool{}, map[string]bool{}, map[string]int{}, map[string]int{}
	s.pausedUntil, s.readySince, s.overtaken = map[string]time.Time{}, map[string]time.Time{}, map[string]map[string]int{}
	if s.crashes < 5 && s.rand.IntN(3) > 0 {
		s.stepsLeft = 1 + s.rand.IntN(5*len(s.links))
	}
	_, err = crawl.Run(ctx, client, []uri.URI{s.first}, &crawl.Options{
		State:    st,
		Scope:    crawl.Scope{SpanHosts: true, MaxDepth: -1},
		Schedule: s.opts,
		Visit:    s.visit,
		Sync: func() error {
			s.step()
			s.lock.Lock()
			defer s.lock.Unlock()
			if s.crashed {
				return errCrashed
			}
			return nil
		},
		Ended: func(p *crawl.Page, err error) {
			if err == nil {
				s.saved[p.URL.String()]++
			}
			s.step()
		},
	})
	if s.crashed {
		s.crashes++
		st.Crash()
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	if st.Continues() {
		t.Error("the state of a complete crawl is unfinished")
	}
	st.Close()
	return false
}

func (s *simulation) visit(ctx context.Context, p *crawl.Page) error {
	host, url := p.URL.Host(), p.URL.String()
	s.visitStarts(host, url)
	defer func() {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.visits[host]--
	}()
	for {
		err := p.Read(ctx)
		s.step()
		if !errors.Is(err, fetch.ErrBusy) {
			if err == nil {
				s.linksFound(url)
			}
			return err
		}
		p.AttemptFailed(err)
		s.lock.Lock()
		s.pausedUntil[host] = time.Now().Add(s.opts.MaxPause)
		s.lock.Unlock()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// visitStarts records the start of a visit and counts it for the hosts that were ready before.
func (s *simulation) visitStarts(host, url string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.waiting[url] {
		delete(s.waiting, url)
		s.waitingAt[host]--
	}
	s.known[url] = true
	s.visits[host]++
	delete(s.readySince, host)
	delete(s.overtaken, host)
	now := time.Now()
	for other, n := range s.waitingAt {
		switch {
		case other == host:
		case n <= 0 || s.visits[other] > 0 || now.Before(s.pausedUntil[other]):
			delete(s.readySince, other)
			delete(s.overtaken, other)
		case s.readySince[other].IsZero():
			s.readySince[other], s.overtaken[other] = now, map[string]int{}
		case s.readySince[other].Before(now): // visits that start at the same instant have no order
			if s.overtaken[other][host]++; s.overtaken[other][host] > 2 {
				s.unfair = append(s.unfair, fmt.Sprintf("%s was visited %d times while %s waited for %v", host, s.overtaken[other][host], other, now.Sub(s.readySince[other])))
			}
		}
	}
}

// linksFound records the links of a page that was read.
func (s *simulation) linksFound(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, to := range s.links[url] {
		if s.responses[to] == 0 && !s.known[to] {
			s.known[to], s.waiting[to] = true, true
			s.waitingAt[uri.MustParse(to).Host()]++
		}
	}
}
