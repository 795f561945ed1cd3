package queue_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/internal/artefact"
	"github.com/urlget/urlget/queue/queuetest"
)

var (
	simulations = flag.Uint64("simulations", 100, "number of `worlds` that each simulation runs")
	replay      = flag.Uint64("seed", 0, "simulate only the world of this seed")
)

// TestSimulation runs workers in simulated worlds, each generated from a seed. Requests and
// responses are lost, jobs are delivered twice, connections are cut, and workers crash at any step
// and are replaced. Each job has one result, and each body is stored. No host exceeds its limit,
// which the queue or the workers have, or gets requests during its pause. Only jobs that cannot
// succeed become dead letters.
func TestSimulation(t *testing.T) {
	simulate(t, func(t *testing.T, seed uint64) { newSimulation(seed).run(t) })
}

// simulate runs the worlds of all seeds, or of those that the flags select.
func simulate(t *testing.T, run func(t *testing.T, seed uint64)) {
	t.Parallel()
	test := t.Name()
	first, last := uint64(1), *simulations
	if *replay != 0 {
		first, last = *replay, *replay
	}
	for part := range uint64(2) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for seed := first + part; seed <= last; seed += 2 {
				synctest.Test(t, func(t *testing.T) {
					defer func() { // report the seed in the outer test
						if t.Failed() {
							t.Logf("seed %d; to reproduce: go test ./queue -run '^%s$' -seed %d", seed, test, seed)
						}
					}()
					run(t, seed)
				})
			}
		})
	}
}

// A kind is the behaviour of a resource.
type kind int

const (
	healthy     kind = iota
	missing          // not found
	flaky            // the network fails a few times
	truncated        // the connection is lost within the body a few times
	busy             // busy, with Retry-After, a few times
	unreachable      // the network always fails
	killer           // crashes the worker
	numKinds
)

// A simulation is a world of hosts, with the engine and the workers.
type simulation struct {
	seed        uint64
	model       *queuetest.Model
	perHost     int
	failOneIn   int // one in this many operations fails; 0 for none
	kinds       map[string]kind
	maxDelay    int // maximum duration of a response, in milliseconds
	crashes     int // crashes left, except those caused by killers
	maxParallel int // maximum of Worker.Parallel; 0 means 6
	// watch, if not nil, returns the engine of a worker with a connection.
	watch func(*queuetest.Conn) queue.Engine

	mu         sync.Mutex // protects the fields below
	attempts   map[string]int
	counts     map[string]int // operations, for dice
	running    map[string]int
	maxRunning map[string]int
	pauses     map[string]hostPause
	failures   []string
	stored     map[string]int // stored bodies by digest
}

// A hostPause is a pause of a busy host.
type hostPause struct{ from, to time.Time }

// dice returns a number from 0 to below n for an event.
func (s *simulation) dice(n int, event ...any) int {
	h := fnv.New64a()
	fmt.Fprintln(h, s.seed, event)
	return int(h.Sum64() >> 16 % uint64(n))
}

// countEvent counts an event and returns its number.
func (s *simulation) countEvent(event string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[event]++
	return s.counts[event]
}

func newSimulation(seed uint64) *simulation {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &simulation{seed: seed, perHost: 1 + r.IntN(3), kinds: map[string]kind{}, attempts: map[string]int{}, counts: map[string]int{},
		running: map[string]int{}, maxRunning: map[string]int{}, pauses: map[string]hostPause{}, stored: map[string]int{}}
	hosts := 1 + r.IntN(5)
	s.maxDelay = 3000
	if r.IntN(6) == 0 {
		s.maxDelay = 100_000 // longer than leases
	}
	for i := range 1 + r.IntN(30) {
		url := fmt.Sprintf("x-sim://h%d/%d", r.IntN(hosts), i)
		if k := kind(r.IntN(3 * int(numKinds))); k < numKinds {
			s.kinds[url] = k
		} else {
			s.kinds[url] = healthy
		}
		if s.kinds[url] == killer && r.IntN(4) > 0 {
			s.kinds[url] = healthy // only a quarter of the killers remain
		}
	}
	if r.IntN(3) > 0 {
		s.failOneIn, s.crashes = 10+r.IntN(60), r.IntN(6)
	}
	s.model = queuetest.NewModel(queuetest.Options{Limits: queue.Limits{AckWait: 30 * time.Second}, Window: 2 * time.Hour, Fault: s.fault})
	return s
}

// fault loses some requests and responses, and delivers some jobs twice.
func (s *simulation) fault(conn, op, key string) queuetest.Fault {
	if s.failOneIn == 0 {
		return queuetest.Fault{}
	}
	event := conn + " " + op + " " + key
	switch n := s.dice(s.failOneIn, event, s.countEvent(event)); {
	case n == 0:
		return queuetest.Fault{Lost: true}
	case n == 1:
		return queuetest.Fault{ResponseLost: true}
	case n == 2 && op == "next":
		return queuetest.Fault{Twice: true}
	}
	return queuetest.Fault{}
}

func content(url string) []byte {
	return []byte(strings.Repeat(url+"\n", 1+len(url)*len(url)%200))
}

// A worker simulates one process.
type worker struct {
	*simulation
	name    string
	conn    *queuetest.Conn
	kill    context.CancelFunc
	crashed chan struct{}
	once    sync.Once
	moved   *sharedMemory // with the pages of a crawl; nil if there are none
}

// crash ends the process. Its later operations have no effect.
func (w *worker) crash() {
	w.once.Do(func() {
		w.conn.Cut(true)
		w.kill()
		close(w.crashed)
	})
}

// step is called wherever the process may crash or lose its connection for a while.
func (w *worker) step() {
	if w.failOneIn == 0 {
		return
	}
	n := w.dice(40, w.name, w.countEvent(w.name))
	w.mu.Lock()
	crash := n == 0 && w.crashes > 0
	if crash {
		w.crashes--
	}
	w.mu.Unlock()
	switch {
	case crash:
		w.crash()
	case n == 1:
		w.conn.Cut(true)
		time.AfterFunc(time.Duration(w.dice(60, w.name, "cut"))*time.Second, func() {
			select {
			case <-w.crashed:
			default:
				w.conn.Cut(false)
			}
		})
	}
}

// Open implements fetch.Driver.
func (w *worker) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	host, url := req.URL.Host(), req.URL.String()
	w.step()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	w.mu.Lock()
	w.attempts[url]++
	attempt := w.attempts[url]
	w.running[host]++
	w.maxRunning[host] = max(w.maxRunning[host], w.running[host])
	if now, r := time.Now(), w.pauses[host]; w.failOneIn == 0 && now.After(r.from.Add(2*time.Second)) && now.Before(r.to) {
		w.failures = append(w.failures, fmt.Sprintf("%s got a request %v after a response with Retry-After %v", host, now.Sub(r.from), r.to.Sub(r.from)))
	}
	w.mu.Unlock()
	ended := sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.running[host]--
	})
	select {
	case <-time.After(time.Duration(w.dice(w.maxDelay, url, attempt)) * time.Millisecond):
	case <-ctx.Done():
		ended()
		return nil, ctx.Err()
	}
	w.step()
	failsAgain := attempt <= w.dice(3, url, "tries")+1
	fail := func(e *fetch.Error) (*fetch.Response, error) {
		ended()
		return nil, e
	}
	switch k := w.kinds[url]; {
	case k == missing:
		return fail(&fetch.Error{Code: fetch.ErrNotFound})
	case k == unreachable, k == flaky && failsAgain:
		return fail(&fetch.Error{Code: fetch.ErrNetwork, Retry: true})
	case k == busy && failsAgain:
		after := time.Duration(2+w.dice(30, url, attempt)) * time.Second
		w.mu.Lock()
		w.pauses[host] = hostPause{time.Now(), time.Now().Add(after)}
		w.mu.Unlock()
		return fail(&fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: after})
	case k == killer:
		w.crash()
		return fail(&fetch.Error{Code: fetch.ErrNetwork})
	}
	data := content(url)
	var body io.Reader = strings.NewReader(string(data))
	if w.kinds[url] == truncated && failsAgain {
		body = io.MultiReader(strings.NewReader(string(data[:len(data)/2])), failing{io.ErrUnexpectedEOF})
	}
	return &fetch.Response{Meta: fetch.Meta{Size: int64(len(data))}, Body: &closer{body, ended}}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type closer struct {
	io.Reader
	close func()
}

func (c *closer) Close() error { c.close(); return nil }

// Begin implements queue.Store. All workers share the stored bodies.
func (w *worker) Begin() (queue.Spool, error) { return &spool{w: w}, nil }

// Get implements queue.Store. Workers read only moved pages.
func (w *worker) Get(ctx context.Context, sum string) (io.ReadCloser, error) {
	if w.moved == nil {
		return nil, errors.ErrUnsupported
	}
	w.step()
	return w.moved.Get(ctx, sum)
}

type spool struct {
	strings.Builder
	w *worker
}

func (s *spool) Commit(_ context.Context, sum string) (string, error) {
	s.w.step()
	got := sha256.Sum256([]byte(s.String()))
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if hex.EncodeToString(got[:]) != sum {
		s.w.failures = append(s.w.failures, "Commit with the digest of another body")
	}
	select {
	case <-s.w.crashed:
		return "", errors.New("simulated crash")
	default:
	}
	s.w.stored[sum]++
	return artefact.Path(sum), nil
}

func (s *spool) Reader() (io.Reader, error) { return strings.NewReader(s.String()), nil }

func (s *spool) Discard() {}

// process runs a worker until it ends, and reports whether it crashed.
func (s *simulation) process(ctx context.Context, name string) (crashed bool) {
	return s.work(ctx, name, queue.Worker{Retry: retry.Policy{Tries: 8}, Crashes: 12}, func(w *worker) fetch.Scheme {
		return fetch.Scheme{Name: "x-sim", Ops: []fetch.Op{fetch.OpGet}, Driver: w}
	})
}

// work runs a worker with one scheme until it ends, and reports whether it crashed.
func (s *simulation) work(ctx context.Context, name string, opts queue.Worker, scheme func(*worker) fetch.Scheme) (crashed bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &worker{simulation: s, name: name, conn: s.model.Connect(name), kill: cancel, crashed: make(chan struct{})}
	client := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) { reg.Register(scheme(w)) })
	defer client.Close()
	if opts.Engine = w.conn; s.watch != nil {
		opts.Engine = s.watch(w.conn)
	}
	opts.Runner, opts.Store = &job.Runner{Downloader: &download.Downloader{Client: client}}, w
	opts.Name, opts.Parallel, opts.PerHost, opts.Grace = name, 1+s.dice(cmp.Or(s.maxParallel, 6), name, "parallel"), s.perHost, -1
	if err := opts.Run(ctx); err != nil {
		s.mu.Lock()
		s.failures = append(s.failures, err.Error())
		s.mu.Unlock()
	}
	select {
	case <-w.crashed:
		return true
	default:
		return false
	}
}

func (s *simulation) run(t *testing.T) {
	admin := s.model.Connect("admin")
	s.setLimits(t, admin)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group sync.WaitGroup
	for i := range 1 + s.dice(4, "workers") {
		group.Go(func() {
			for n := 0; s.process(ctx, fmt.Sprint("w", i, ".", n)) && ctx.Err() == nil; n++ {
				time.Sleep(time.Duration(s.dice(5, i, n)) * time.Second)
			}
		})
	}
	for url := range s.kinds {
		for range 1 + s.dice(2, url, "twice") {
			s.submit(t, admin, url)
		}
	}
	if s.dice(3, "pause") == 0 {
		s.pause(t, admin)
	}
	poison := 0
	if s.dice(4, "poison") == 0 {
		poison = 1
		for attempt := 0; ; attempt++ {
			if _, err := admin.Submit(ctx, queue.Low, "poison", []byte(`{"v": 1, "id": `)); err == nil {
				break
			}
		}
	}
	for start := time.Now(); s.depth(ctx, admin) > 0; time.Sleep(5 * time.Second) {
		if time.Since(start) > 12*time.Hour {
			t.Error("unfinished jobs after 12 hours")
			break
		}
	}
	stop()
	group.Wait()
	s.check(t, admin, poison)
}

// limit returns the limit of a host. In half of the worlds, half of the hosts have one in the queue.
func (s *simulation) limit(host string) int {
	if s.dice(2, "limits") == 0 || s.dice(2, "limits", host) == 0 {
		return s.perHost
	}
	return 1 + s.dice(5, "limit", host)
}

// setLimits sets the limits of hosts, before workers start.
func (s *simulation) setLimits(t *testing.T, a queue.Admin) {
	var b strings.Builder
	for i := range 5 {
		host := fmt.Sprint("h", i)
		if n := s.limit(host); n != s.perHost {
			fmt.Fprintln(&b, host, n, "-")
		}
	}
	retryCall(t, func() error { return a.SetHostLimits(t.Context(), []byte(b.String())) })
}

// pause pauses the queue for a while.
func (s *simulation) pause(t *testing.T, a queue.Admin) {
	for _, state := range []queue.State{queue.Paused, queue.Running} {
		time.Sleep(time.Duration(s.dice(100, "until", state)) * time.Second)
		retryCall(t, func() error { return a.SetState(t.Context(), state) })
	}
}

func (s *simulation) submit(t *testing.T, e queue.Engine, url string) {
	for range 100 {
		p := queue.Priorities[s.dice(3, url, "priority")]
		if _, _, err := queue.Submit(t.Context(), e, p, &job.Job{URL: uri.MustParse(url)}); err == nil {
			return
		}
	}
	t.Fatal("every Submit failed")
}

func (s *simulation) depth(ctx context.Context, a queue.Admin) uint64 {
	for {
		if status, err := a.Status(ctx); err == nil {
			return status.Depth()
		}
	}
}

func (s *simulation) check(t *testing.T, a queue.Admin, poison int) {
	ctx := context.WithoutCancel(t.Context())
	results := map[string]*queue.Event{}
	for r, err := range a.Results(ctx, 0, false) {
		ev := &queue.Event{}
		if err := errors.Join(err, json.Unmarshal(r.Data, ev)); err != nil {
			t.Fatal(err)
		}
		if results[ev.URL] != nil {
			t.Errorf("%s has two results", ev.URL)
		}
		results[ev.URL] = ev
	}
	letters := map[string]string{}
	for d, err := range a.Dead(ctx, 0) {
		l := &queue.Letter{}
		if err := errors.Join(err, json.Unmarshal(d.Data, l)); err != nil {
			t.Fatal(err)
		}
		letters[l.URL] = l.Error
	}
	if _, ok := letters[""]; ok != (poison > 0) {
		t.Errorf("%d invalid messages, dead letters %v", poison, letters)
	}
	delete(letters, "")
	wanted := map[string]bool{}
	killers := slices.Contains(slices.Collect(maps.Values(s.kinds)), killer)
	for url, k := range s.kinds {
		ev := results[url]
		if ev == nil {
			t.Errorf("%s has no result", url)
			continue
		}
		_, dead := letters[url]
		sum := sha256.Sum256(content(url))
		digest := hex.EncodeToString(sum[:])
		switch k {
		case missing:
			if ev.Name != "failed" || ev.Class != string(fetch.ErrNotFound) || dead {
				t.Errorf("%s, which is missing: %+v", url, ev)
			}
		case unreachable, killer:
			if ev.Name != "failed" || !dead {
				t.Errorf("%s, which cannot succeed: %+v, dead letters %v", url, ev, letters)
			}
		default:
			if ev.Name != "saved" || ev.SHA256 != digest || dead {
				t.Errorf("%s of kind %d: %+v, dead letter %q", url, k, ev, letters[url])
			}
			wanted[digest] = true
			if s.stored[digest] == 0 {
				t.Errorf("body of %s is not stored", url)
			}
		}
		if n := s.attempts[url]; s.failOneIn == 0 && !killers && n != 1 && (k == healthy || k == missing) {
			t.Errorf("%s was requested %d times without faults", url, n)
		}
		delete(results, url)
	}
	for url := range results {
		t.Errorf("result of %s, which was not submitted", url)
	}
	for digest := range s.stored {
		if !wanted[digest] {
			t.Errorf("a body of no resource is stored")
		}
	}
	for host, n := range s.maxRunning {
		if limit := s.limit(host); n > limit {
			t.Errorf("%s had %d concurrent transfers, limit %d", host, n, limit)
		}
	}
	for _, text := range s.failures {
		t.Error(text)
	}
}
