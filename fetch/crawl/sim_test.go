package crawl_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/crawl"
	"github.com/urlget/urlget/fetch/schedule"
	"github.com/urlget/urlget/fetch/uri"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is a driver with made up hosts, whose pages lead to each other.
type world struct {
	links   map[string][]string // by URL
	latency func() time.Duration
	busy    func(url string) bool // the host refuses this time
	mu      sync.Mutex
	asked   map[string]int // how often each URL was answered
	running map[string]int // exchanges at once by host
	most    map[string]int
}

func (w *world) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	host, url := req.URL.Host(), req.URL.String()
	w.mu.Lock()
	w.running[host]++
	w.most[host] = max(w.most[host], w.running[host])
	pause, refused := w.latency(), w.busy(url)
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
	if refused {
		return nil, &fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: time.Second}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[url]++
	list, ok := w.links[url]
	if !ok {
		return nil, &fetch.Error{Code: fetch.ErrNotFound}
	}
	parts := func(yield func(fetch.Part, error) bool) {
		for _, to := range list {
			e := fetch.Entry{URL: uri.MustParse(to), Kind: fetch.EntryListing, Rel: "item", Size: -1}
			if !yield(fetch.Part{Text: []byte(to + "\n"), Entries: []fetch.Entry{e}}, nil) {
				return
			}
		}
	}
	body, parse := fetch.NewListing(parts, nil)
	return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: -1}, URL: req.URL, Body: body, Parse: parse}, nil
}

func newWorld(r *rand.Rand, hosts, pages int) *world {
	w := &world{links: map[string][]string{}, asked: map[string]int{}, running: map[string]int{}, most: map[string]int{}}
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
	w.latency = func() time.Duration { return time.Duration(r.IntN(1000)) * time.Millisecond }
	w.busy = func(string) bool { return r.IntN(20) == 0 }
	return w
}

// reachable returns what the seed leads to.
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
	return fetch.New(nil, func(_ *fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-sim", Ops: []fetch.Op{fetch.OpGet, fetch.OpList}, Driver: w})
	})
}

var simulations = flag.Int("simulations", 100, "how many worlds TestSimulation crawls")

// TestSimulation crawls made up worlds from seeds of a random number, with a process that ends at any
// moment and begins again: nothing is lost, nothing is visited twice but what was under way, no host
// gets more than it bears, and the crawl comes to its end.
func TestSimulation(t *testing.T) {
	t.Parallel()
	seeds := uint64(*simulations)
	for part := range uint64(4) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < seeds; seed += 4 {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) { simulate(t, seed, dir) })
				if t.Failed() {
					t.Fatalf("the seed is %d", seed)
				}
			}
		})
	}
}

func simulate(t *testing.T, seed uint64, dir string) {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(r, 1+r.IntN(6), 1+r.IntN(60))
	first := uri.MustParse(func() string {
		for url := range w.links {
			if uri.MustParse(url).Path() == "/p0" {
				return url
			}
		}
		return ""
	}())
	want := w.reachable(first.String())
	client := w.client()
	defer client.Close()
	parallel, perHost := 1+r.IntN(8), 1+r.IntN(3)
	crashes, begun := 0, time.Now()
	saved := map[string]int{}
	for {
		st, err := crawl.Open(filepath.Join(dir, "state"))
		if err != nil {
			t.Fatal(err)
		}
		st.NoSync()
		ctx, cancel := context.WithCancel(t.Context())
		if r.IntN(3) > 0 && crashes < 5 {
			crashes++
			time.AfterFunc(time.Duration(r.IntN(20_000))*time.Millisecond, func() {
				st.Crash()
				cancel()
			})
		}
		_, err = crawl.Run(ctx, client, []uri.URI{first}, &crawl.Options{
			State:    st,
			Scope:    crawl.Scope{SpanHosts: true, MaxDepth: -1},
			Schedule: schedule.Options{Parallel: parallel, Host: schedule.Limits{Parallel: perHost}},
			Visit: func(ctx context.Context, p *crawl.Page) error {
				for {
					err := p.Read(ctx)
					if !errors.Is(err, fetch.ErrBusy) {
						return err
					}
					p.Busy(err)
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			},
			Ended: func(p *crawl.Page, err error) {
				if err == nil {
					saved[p.URL.String()]++
				}
			},
		})
		cancel()
		if err == nil {
			if st.Continues() {
				t.Error("the crawl ended, and the state says that it did not")
			}
			st.Close()
			break
		}
		st.Close()
		if time.Since(begun) > time.Hour {
			t.Fatalf("no end after an hour: %v", err)
		}
	}
	for url := range want {
		if n := w.asked[url]; n == 0 || n > 1+crashes {
			t.Errorf("%s was visited %d times, after %d crashes", url, n, crashes)
		}
		if crashes == 0 && saved[url] != 1 {
			t.Errorf("%s ended %d times", url, saved[url])
		}
	}
	for url := range w.asked {
		if !want[url] {
			t.Errorf("%s was visited, and nothing leads there", url)
		}
	}
	for host, n := range w.most {
		if n > min(perHost, parallel) {
			t.Errorf("%s had %d visitors at once, more than %d", host, n, perHost)
		}
	}
}
