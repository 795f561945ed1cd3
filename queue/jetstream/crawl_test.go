package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	httpdriver "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// A web is a site with pages that link to each other, some through redirects, and a robots.txt.
type web struct {
	*httptest.Server
	mu       sync.Mutex
	requests map[string]int
}

func newWeb(t *testing.T, pages int) *web {
	w := &web{requests: map[string]int{}}
	r := rand.New(rand.NewPCG(1, 1))
	texts := map[string]string{}
	name := func(i int) string {
		switch {
		case i == 0:
			return "/"
		case i%17 == 3:
			return fmt.Sprintf("/private/p%c", 'a'+i%26) + fmt.Sprint(i)
		}
		return fmt.Sprint("/p", i)
	}
	for i := range pages {
		var b strings.Builder
		fmt.Fprintf(&b, "<title>%d</title>", i)
		for range r.IntN(8) {
			fmt.Fprintf(&b, "<a href=%q>x</a>", name(r.IntN(pages)))
		}
		fmt.Fprintf(&b, "<a href=%q>next</a><img src=/i%d.png><a href=http://elsewhere.invalid/>away</a>", name((i+1)%pages), i%5)
		texts[name(i)] = b.String()
	}
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		path := req.URL.Path
		w.mu.Lock()
		w.requests[path]++
		w.mu.Unlock()
		text, ok := texts[path]
		switch {
		case path == "/robots.txt":
			fmt.Fprint(out, "User-agent: *\nDisallow: /private/")
		case strings.HasSuffix(path, ".png"):
			out.Header().Set("Content-Type", "image/png")
			fmt.Fprint(out, "\x89PNG ", path)
		case ok && strings.HasSuffix(path, "7"):
			http.Redirect(out, req, path+"/moved", http.StatusFound)
		case strings.HasSuffix(path, "/moved"):
			out.Header().Set("Content-Type", "text/html")
			fmt.Fprint(out, texts[strings.TrimSuffix(path, "/moved")])
		case ok:
			out.Header().Set("Content-Type", "text/html")
			fmt.Fprint(out, text)
		default:
			http.NotFound(out, req)
		}
	}))
	t.Cleanup(w.Close)
	return w
}

// TestCrawlByWorkersVisitsSamePages compares a crawl by workers with one in a single process.
func TestCrawlByWorkersVisitsSamePages(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{-1, 3} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			t.Parallel()
			site := newWeb(t, 120)
			scope := crawl.Scope{MaxDepth: depth, Requisites: true}
			single := map[string]bool{}
			client := fetch.New(nil, httpdriver.Load)
			t.Cleanup(func() { client.Close() })
			seed := uri.MustParse(site.URL + "/")
			_, err := crawl.Run(t.Context(), client, []uri.URI{seed}, &crawl.Options{Scope: scope, Ended: func(p *crawl.Page, err error) {
				if p.Target.IsZero() { // redirects are pages of their own
					single[p.URL.String()] = err == nil
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			clear(site.requests)

			byWorkers, dir := crawlByWorkers(t, seed, scope, client)
			if !maps.Equal(single, byWorkers) {
				t.Errorf("a single process visited %v\nworkers visited %v", slices.Sorted(maps.Keys(single)), slices.Sorted(maps.Keys(byWorkers)))
			}
			for path, n := range site.requests {
				if n > 1 && (depth < 0 || path == "/robots.txt") && !strings.HasSuffix(path, "/moved") {
					t.Errorf("%s was requested %d times", path, n)
				}
				if strings.HasPrefix(path, "/private/") {
					t.Errorf("%s was requested", path)
				}
			}
			files, err := filepath.Glob(dir + "/sha256/*/*")
			if err != nil || len(files) < 20 {
				t.Errorf("%d bodies, %v", len(files), err)
			}
		})
	}
}

// crawlByWorkers crawls with three workers, each with its own connection. It returns whether the
// visit of each page succeeded, and the directory of the bodies.
func crawlByWorkers(t *testing.T, seed uri.URI, scope crawl.Scope, client *fetch.Client) (visits map[string]bool, contents string) {
	s := serve(t)
	opts := jetstream.Options{InProcess: s, URL: s.URL(), Crawl: "docs"}
	admin := open(t, opts)
	dir := t.TempDir()
	store, err := queue.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group sync.WaitGroup
	defer group.Wait()
	for i := range 3 {
		e := open(t, opts)
		group.Go(func() {
			w := &queue.Worker{Engine: e, Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}, Store: store,
				Name: fmt.Sprint("w", i), Parallel: 4, PerHost: 8, Crawl: true}
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	def, _, err := queue.StartCrawl(ctx, admin, &queue.Crawl{Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	if known, err := def.Submit(ctx, admin, queue.Normal, seed, fetch.Traits{Pages: true, HTML: true}); known || err != nil {
		t.Fatal(known, err)
	}
	if known, err := def.Submit(ctx, admin, queue.Normal, seed, fetch.Traits{Pages: true, HTML: true}); !known || err != nil {
		t.Errorf("second Submit of the seed: known %v, %v", known, err)
	}
	for {
		status, err := admin.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if status.Depth() == 0 {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("crawl did not end")
		}
	}
	stop()
	group.Wait()
	visited := map[string]bool{}
	for r, err := range admin.Results(t.Context(), 0, false) {
		ev := &queue.Event{}
		if err := errors.Join(err, json.Unmarshal(r.Data, ev)); err != nil {
			t.Fatal(err)
		}
		if ev.Name == "skipped" {
			continue // a redirect, or disallowed by robots.txt
		}
		url := ev.URL
		if _, twice := visited[url]; twice {
			t.Errorf("%s has two results", url)
		}
		visited[url] = ev.Name != "failed"
	}
	if _, err := admin.SetSegments(t.Context(), []byte(`{"v":1}`), 0); err != nil {
		t.Fatal(err)
	}
	if err := admin.Forget(t.Context()); err != nil {
		t.Error(err)
	}
	if names, err := admin.Crawls(t.Context()); len(names) > 0 || err != nil {
		t.Errorf("crawls after Forget: %q, %v", names, err)
	}
	if list, _, err := admin.Segments(t.Context()); len(list) > 0 || err != nil {
		t.Errorf("segments after Forget: %q, %v", list, err)
	}
	return visited, dir
}

// TestCrawlsHaveSeparateQueues checks that two crawls and the queue of jobs do not share messages.
func TestCrawlsHaveSeparateQueues(t *testing.T) {
	t.Parallel()
	s := serve(t)
	jobs := open(t, jetstream.Options{InProcess: s, URL: s.URL()})
	a := open(t, jetstream.Options{InProcess: s, URL: s.URL(), Crawl: "a"})
	b := open(t, jetstream.Options{InProcess: s, URL: s.URL(), Crawl: "b"})
	if jobs.Pages() != nil {
		t.Error("Pages of a queue that is not a crawl queue is not nil")
	}
	if _, err := a.Submit(t.Context(), queue.Normal, "k", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*jetstream.Engine{"jobs": jobs, "b": b} {
		if st, err := e.Status(t.Context()); err != nil || st.Depth() > 0 {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
	}
	if names, err := jobs.Crawls(t.Context()); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("%q, %v", names, err)
	}
	if _, err := jetstream.Open(t.Context(), jetstream.Options{InProcess: s, URL: s.URL(), Crawl: "a.b"}); fetch.CodeOf(err) != fetch.ErrRequest {
		t.Errorf("a name with a dot: %v", err)
	}
}

// A crawl that an earlier version stopped, in its description, is paused until it is resumed.
func TestCrawlsStoppedByEarlierVersions(t *testing.T) {
	t.Parallel()
	s := serve(t)
	opts := jetstream.Options{InProcess: s, URL: s.URL(), Crawl: "old"}
	e := open(t, opts)
	if _, err := e.Pages().Create(t.Context(), "crawl", []byte(`{"token":"x","stopped":true}`)); err != nil {
		t.Fatal(err)
	}
	if got, err := e.State(t.Context()); got != queue.Paused || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := e.SetState(t.Context(), queue.Running); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, opts).State(t.Context()); got != queue.Running || err != nil {
		t.Errorf("after it was resumed: %q, %v", got, err)
	}
}

// A crawl has the limits of hosts of its queue, even if the queue is used for the first time after
// the crawl. The crawl keeps a state of its own.
func TestCrawlHasHostLimitsOfQueue(t *testing.T) {
	t.Parallel()
	s := serve(t)
	docs := open(t, jetstream.Options{InProcess: s, URL: s.URL(), Crawl: "docs"})
	if text, err := docs.HostLimits(t.Context()); text != nil || err != nil {
		t.Errorf("without a queue: %q, %v", text, err)
	}
	e := open(t, jetstream.Options{InProcess: s, URL: s.URL()})
	other := open(t, jetstream.Options{InProcess: s, URL: s.URL(), Name: "other"})
	for i, writer := range []*jetstream.Engine{e, docs} {
		want := fmt.Sprintf("h %d -\n", i+1)
		if err := writer.SetHostLimits(t.Context(), []byte(want)); err != nil {
			t.Fatal(err)
		}
		for _, reader := range []*jetstream.Engine{e, docs} {
			if text, err := reader.HostLimits(t.Context()); string(text) != want || err != nil {
				t.Errorf("%q, %v, want %q", text, err, want)
			}
		}
	}
	if text, err := other.HostLimits(t.Context()); text != nil || err != nil {
		t.Errorf("another queue: %q, %v", text, err)
	}
	if err := e.SetState(t.Context(), queue.Paused); err != nil {
		t.Fatal(err)
	}
	if state, err := docs.State(t.Context()); state != queue.Running || err != nil {
		t.Errorf("the state of the crawl is %q, %v", state, err)
	}
}
