package queue_test

import (
	"context"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
)

// The functions of this file are the programs of docs/library.md about queues; see examples/guide.

func submit(ctx context.Context, e queue.Engine, urls ...uri.URI) error {
	for _, u := range urls {
		if _, _, err := queue.Submit(ctx, e, queue.Normal, &job.Job{URL: u}); err != nil {
			return err
		}
	}
	return nil
}

func work(ctx context.Context, c *fetch.Client, e queue.Engine, dir string) error {
	store, err := queue.OpenDir(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	w := &queue.Worker{Engine: e, Store: store, Name: "one",
		Runner: &job.Runner{Downloader: &download.Downloader{Client: c}}}
	return w.Run(ctx)
}
