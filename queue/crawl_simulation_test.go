package queue_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// TestCrawlSimulation crawls simulated sites, each generated from a seed, with the faults of
// TestSimulation. Every page within the depth limit has one result, and no other page has one. A
// page that redirects counts as moved. A URL that robots.txt disallows is not requested, and links of
// pages with nofollow are not followed. Without faults, the robots.txt of each server is requested
// once.
func TestCrawlSimulation(t *testing.T) {
	simulate(t, func(t *testing.T, seed uint64) { newSite(seed).run(t) })
}

// A site is a simulation whose resources link to each other.
type site struct {
	*simulation
	def         queue.Crawl
	seeds       []string
	links       map[string][]string // targets of links
	redirects   map[string]string   // targets of redirects
	window      time.Duration
	refuseOneIn int // one in this many requests is refused; 0 for none
	moved       *sharedMemory
}

func newSite(seed uint64) *site {
	r := rand.New(rand.NewPCG(seed, 2))
	s := &site{moved: &sharedMemory{memory: memory{}}, links: map[string][]string{}, redirects: map[string]string{}, simulation: &simulation{seed: seed, perHost: 1 + r.IntN(3), kinds: map[string]kind{},
		attempts: map[string]int{}, counts: map[string]int{}, running: map[string]int{}, maxRunning: map[string]int{}, pauses: map[string]hostPause{}, stored: map[string]int{}}}
	s.maxDelay = 1 + r.IntN(3000)
	hosts := 1 + r.IntN(3)
	var all []string
	for i := range 1 + r.IntN(40) {
		name := fmt.Sprint("p", i)
		switch r.IntN(8) {
		case 0:
			name = "secret/" + name
		case 1:
			name = "nofollow/" + name
		}
		all = append(all, fmt.Sprintf("http://h%d/%s", r.IntN(hosts), name))
	}
	for i, url := range all {
		if r.IntN(10) == 0 && i > 0 {
			s.redirects[url] = all[r.IntN(len(all))]
		}
		for range r.IntN(6) {
			s.links[url] = append(s.links[url], all[r.IntN(len(all))])
		}
		if i+1 < len(all) && r.IntN(4) > 0 {
			s.links[url] = append(s.links[url], all[i+1])
		}
	}
	s.seeds = []string{all[0]}
	if r.IntN(4) == 0 && s.redirects[all[len(all)-1]] == "" && !strings.Contains(all[len(all)-1], "secret") {
		s.seeds = append(s.seeds, all[len(all)-1])
	}
	if r.IntN(3) > 0 {
		s.failOneIn, s.crashes = 15+r.IntN(80), r.IntN(6)
	}
	if r.IntN(3) == 0 {
		s.refuseOneIn = 4 + r.IntN(30)
	}
	s.def.Scope = crawl.Scope{SpanHosts: true, MaxDepth: -1}
	if r.IntN(2) == 0 {
		s.def.Scope.MaxDepth = 1 + r.IntN(5)
	}
	s.def.NoRobots = r.IntN(3) == 0
	s.window = 2 * time.Hour
	if r.IntN(2) == 0 {
		s.window = time.Millisecond // duplicate detection of the engine is not required
	}
	s.model = queuetest.NewModel(queuetest.Options{Limits: queue.Limits{AckWait: 30 * time.Second}, Window: s.window, Fault: s.fault})
	return s
}

// page returns the content of a URL.
func (s *site) page(url string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<title>%s</title>\n", url)
	if strings.Contains(url, "/nofollow/") {
		fmt.Fprintln(&b, "<meta name=robots content=nofollow>")
	}
	for _, to := range s.links[url] {
		fmt.Fprintf(&b, "<a href=%q>there</a>\n", to)
	}
	return b.Bytes()
}

// wantedOutcomes returns the expected outcome of each page that can be reached from the seeds.
func (s *site) wantedOutcomes() map[string]string {
	ends := map[string]string{}
	depths := map[string]int{}
	var todo []string
	for _, seed := range s.seeds {
		if _, ok := depths[seed]; !ok {
			depths[seed] = 0
			todo = append(todo, seed)
		}
	}
	visit := func(url string, depth int) {
		if at, ok := depths[url]; ok && at <= depth || s.def.Scope.MaxDepth >= 0 && depth > s.def.Scope.MaxDepth {
			return
		}
		depths[url] = depth
		todo = append(todo, url)
	}
	for ; len(todo) > 0; todo = todo[1:] {
		url := todo[0]
		depth := depths[url]
		to, redirects := s.redirects[url]
		switch {
		case depth > 0 && !s.def.NoRobots && strings.Contains(url, "/secret/"):
			ends[url] = "robots"
		case redirects && to != url:
			ends[url] = "moved"
			visit(to, depth)
		default:
			ends[url] = "saved"
			if !s.def.NoRobots && strings.Contains(url, "/nofollow/") {
				continue
			}
			for _, to := range s.links[url] {
				visit(to, depth+1)
			}
		}
	}
	return ends
}

// A crawler is a worker of a site.
type crawler struct {
	*worker
	*site
}

// Open implements fetch.Driver.
func (c *crawler) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	url := req.URL.String()
	final, file := url, c.site.page(url)
	to, redirects := c.site.redirects[url]
	switch {
	case req.URL.Path() == "/robots.txt":
		file = []byte("User-agent: *\nDisallow: /secret/")
	case redirects && to != url:
		final = to
	}
	c.worker.step()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	host := req.URL.Host()
	c.worker.mu.Lock()
	c.worker.attempts[url]++
	attempt := c.worker.attempts[url]
	c.worker.running[host]++
	c.worker.maxRunning[host] = max(c.worker.maxRunning[host], c.worker.running[host])
	c.worker.mu.Unlock()
	release := sync.OnceFunc(func() {
		c.worker.mu.Lock()
		defer c.worker.mu.Unlock()
		c.worker.running[host]--
	})
	select {
	case <-time.After(time.Duration(c.worker.dice(c.worker.maxDelay, url, attempt)) * time.Millisecond):
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
	c.worker.step()
	if c.refuseOneIn > 0 && attempt < 4 && c.worker.dice(c.refuseOneIn, url, attempt, "refused") == 0 {
		release()
		return nil, &fetch.Error{Code: fetch.ErrNetwork, Retry: true}
	}
	if final != url {
		file = c.site.page(final)
	}
	return &fetch.Response{Meta: fetch.Meta{Size: int64(len(file)), ContentType: "text/html"}, URL: uri.MustParse(final),
		Body: &closer{bytes.NewReader(file), release}}, nil
}

// end returns the last URL of a chain of redirects.
func (s *site) end(url string) string {
	for range len(s.redirects) {
		to, ok := s.redirects[url]
		if !ok {
			break
		}
		url = to
	}
	return url
}

func (s *site) process(ctx context.Context, name string) (crashed bool) {
	return s.work(ctx, name, queue.Worker{Retry: retry.Policy{Tries: 30}, Crashes: 100, Crawl: true}, func(w *worker) fetch.Scheme {
		w.moved = s.moved
		return fetch.Scheme{Name: "http", Port: 80, Ops: []fetch.Op{fetch.OpGet}, Driver: &crawler{w, s},
			Traits: fetch.Traits{RedirectTarget: true, Pages: true, HTML: true, Robots: "/robots.txt"}}
	})
}

func (s *site) run(t *testing.T) {
	for from := range s.redirects { // chains of redirects are shortened to one redirect
		if to := s.end(from); s.redirects[to] != "" {
			delete(s.redirects, from)
		}
	}
	for from := range s.redirects {
		s.redirects[from] = s.end(from)
	}
	admin := s.model.Connect("admin")
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
	if s.dice(2, "moves") == 0 {
		s.def.Store = func(context.Context) (queue.Store, error) { return s.moved, nil }
		group.Go(func() { s.movePages(ctx) })
	}
	s.start(t, admin)
	stopped := s.dice(3, "stopped") == 0
	for start := time.Now(); s.depth(ctx, admin) > 0; time.Sleep(5 * time.Second) {
		if stopped && time.Since(start) > 10*time.Second {
			stopped = false
			s.pause(t, admin)
		}
		if time.Since(start) > 12*time.Hour {
			t.Error("unfinished pages after 12 hours")
			break
		}
	}
	stop()
	group.Wait()
	s.check(t, admin)
}

// A sharedMemory is a store in memory for concurrent use.
type sharedMemory struct {
	mu sync.Mutex
	memory
}

func (s *sharedMemory) Begin() (queue.Spool, error) {
	return &sharedSpool{&memorySpool{store: s.memory}, s}, nil
}

func (s *sharedMemory) Get(ctx context.Context, sum string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory.Get(ctx, sum)
}

type sharedSpool struct {
	*memorySpool
	shared *sharedMemory
}

func (s *sharedSpool) Commit(ctx context.Context, sum string) (string, error) {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	return s.memorySpool.Commit(ctx, sum)
}

// pagesOnly is an engine without results, so that a compaction moves only pages.
type pagesOnly struct{ queue.Admin }

func (pagesOnly) Results(context.Context, uint64, bool) iter.Seq2[queue.Stored, error] {
	return func(func(queue.Stored, error) bool) {}
}

// movePages moves the pages of the crawl to the store again and again.
func (s *site) movePages(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		e := pagesOnly{queuetest.Age(s.model.Connect(fmt.Sprint("mover", i)), 3*queue.MinAge)}
		(&queue.Compaction{Age: queue.MinAge, Least: 1}).Run(ctx, e, s.moved)
		retry.Sleep(ctx, time.Duration(s.dice(20, "move", i))*time.Second)
	}
}

// start starts the crawl and submits each seed twice.
func (s *site) start(t *testing.T, admin queue.Engine) {
	var def *queue.Crawl
	retryCall(t, func() (err error) {
		def, _, err = queue.StartCrawl(t.Context(), admin, &s.def)
		return err
	})
	for _, seed := range append(s.seeds, s.seeds...) {
		retryCall(t, func() error {
			_, err := def.Submit(t.Context(), admin, queue.Normal, uri.MustParse(seed), fetch.Traits{Pages: true, HTML: true})
			return err
		})
	}
}

// pause pauses the crawl for ten minutes and checks that no page is visited once all workers know that and
// have ended the pages that they had begun. That takes minutes if a page waits for robots.txt while workers
// crash and requests to the engine are lost.
func (s *site) pause(t *testing.T, admin queue.Admin) {
	setState := func(to queue.State) {
		retryCall(t, func() error { return admin.SetState(t.Context(), to) })
	}
	setState(queue.Paused)
	time.Sleep(8 * time.Minute)
	count := func() (n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, tries := range s.attempts {
			n += tries
		}
		return n
	}
	before := count()
	time.Sleep(2 * time.Minute)
	if after := count(); after != before {
		t.Errorf("%d requests while the crawl was paused", after-before)
	}
	setState(queue.Running)
}

func retryCall(t *testing.T, do func() error) {
	t.Helper()
	var err error
	for range 100 {
		if err = do(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

func (s *site) check(t *testing.T, a queue.Admin) {
	ctx := context.WithoutCancel(t.Context())
	want := s.wantedOutcomes()
	results := map[string]bool{}
	for r, err := range a.Results(ctx, 0, false) {
		ev := &queue.Event{}
		if err := errors.Join(err, json.Unmarshal(r.Data, ev)); err != nil {
			t.Fatal(err)
		}
		if results[ev.URL] {
			t.Errorf("%s has two results", ev.URL)
		}
		results[ev.URL] = true
		got := ev.Name
		if ev.Reason != "" {
			got = ev.Reason
		}
		if got != want[ev.URL] {
			t.Errorf("%s: %q, want %q: %+v", ev.URL, got, want[ev.URL], ev)
		}
		sum := sha256.Sum256(s.page(ev.URL))
		if digest := hex.EncodeToString(sum[:]); got == "saved" && (ev.SHA256 != digest || s.stored[digest] == 0) {
			t.Errorf("body of %s is not stored", ev.URL)
		}
	}
	for url, end := range want {
		if !results[url] {
			t.Errorf("%s (%s) has no result", url, end)
		}
		if n := s.attempts[url]; s.failOneIn == 0 && s.refuseOneIn == 0 && s.def.Scope.MaxDepth < 0 && n > 1 && !slices.Contains(s.seeds, url) {
			t.Errorf("%s was requested %d times without faults", url, n)
		}
	}
	for url, n := range s.attempts {
		host, robots := strings.CutSuffix(url, "/robots.txt")
		if robots && s.failOneIn == 0 && s.refuseOneIn == 0 && n > 1 {
			t.Errorf("robots.txt of %s was requested %d times", host, n)
		}
		if !robots && want[url] == "" {
			t.Errorf("%s was requested, but is not reachable", url)
		}
	}
	for d, err := range a.Dead(ctx, 0) {
		t.Errorf("dead letter: %s, %v", d.Data, err)
	}
	for host, n := range s.maxRunning {
		if n > s.perHost {
			t.Errorf("%s had %d concurrent transfers, limit %d", host, n, s.perHost)
		}
	}
	for _, text := range s.failures {
		t.Error(text)
	}
}
