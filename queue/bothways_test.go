package queue_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// A harvest is the result of a crawl, by URL.
type harvest struct {
	ends   map[string]string // the outcome of each page, or its reason
	bodies map[string]string // the saved contents
	left   map[string]crawl.Reason

	mu sync.Mutex
}

func newHarvest() *harvest {
	return &harvest{ends: map[string]string{}, bodies: map[string]string{}, left: map[string]crawl.Reason{}}
}

// reportLeft records a link that is not followed. Lines that are not links have no URL.
func (h *harvest) reportLeft(l crawl.Link, why crawl.Reason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !l.URL.IsZero() {
		h.left[l.URL.String()+" "+string(why)] = why
	}
}

// crawlByWorkers crawls with two workers.
func crawlByWorkers(t *testing.T, client *fetch.Client, def queue.Crawl, seeds ...uri.URI) *harvest {
	t.Helper()
	m := queuetest.NewModel(queuetest.Options{})
	admin := m.Connect("admin")
	c, _, err := queue.StartCrawl(t.Context(), admin, &def)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range seeds {
		if _, err := c.Submit(t.Context(), admin, queue.Normal, u, client.Traits(u)); err != nil {
			t.Fatal(err)
		}
	}
	store, err := queue.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := newHarvest()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var workers sync.WaitGroup
	for i := range 2 {
		name := fmt.Sprint("w", i)
		w := &queue.Worker{Engine: m.Connect(name), Runner: &job.Runner{Downloader: &download.Downloader{Client: client}},
			Store: store, Name: name, PerHost: 4, Crawl: true, Grace: -1, Left: h.reportLeft}
		workers.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for {
		status, err := admin.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if status.Depth() == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	workers.Wait()
	for r, err := range admin.Results(t.Context(), 0, false) {
		ev := &queue.Event{}
		if err := errors.Join(err, json.Unmarshal(r.Data, ev)); err != nil {
			t.Fatal(err)
		}
		h.ends[ev.URL] = cmp.Or(ev.Reason, ev.Name)
		if ev.SHA256 == "" {
			continue
		}
		body, err := store.Get(t.Context(), ev.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil {
			t.Fatal(err)
		}
		h.bodies[ev.URL] = string(text)
	}
	return h
}

// crawlAsTree crawls in this process and saves a tree.
func crawlAsTree(t *testing.T, client *fetch.Client, def queue.Crawl, seeds ...uri.URI) *harvest {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	h, paths := newHarvest(), map[string]string{}
	opts := &mirror.Options{Crawl: crawl.Options{Scope: def.Scope, NoRobots: def.NoRobots, Sitemaps: def.Sitemaps, Left: h.reportLeft},
		Ended: func(e mirror.Event) {
			url := e.URL.WithoutUserinfo().String()
			h.ends[url] = string(e.Outcome)
			switch {
			case !e.Target.IsZero():
				h.ends[url] = string(crawl.Moved)
			case e.Outcome == job.Skipped:
				h.ends[url] = "not_wanted"
			}
			if e.Outcome == job.Saved {
				paths[url] = e.Path
			}
		}}
	if _, err := mirror.Run(t.Context(), &download.Downloader{Client: client, Root: root}, seeds, opts); err != nil {
		t.Fatal(err)
	}
	for url, name := range paths {
		text, err := root.ReadFile(name)
		if err != nil {
			t.Errorf("%s: %v", url, err)
		}
		h.bodies[url] = string(text)
	}
	return h
}
