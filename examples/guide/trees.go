package guide

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

func broken(ctx context.Context, c *fetch.Client, w io.Writer, site uri.URI) error {
	_, err := crawl.Run(ctx, c, []uri.URI{site}, &crawl.Options{
		Scope: crawl.Scope{MaxDepth: 5},
		Ended: func(p *crawl.Page, err error) {
			if err != nil {
				fmt.Fprintln(w, p.URL, fetch.CodeOf(err))
			}
		},
	})
	return err
}

func copyTree(ctx context.Context, c *fetch.Client, dir string, tree uri.URI) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	d := &download.Downloader{Client: c, Root: root}
	_, err = mirror.Run(ctx, d, []uri.URI{tree}, &mirror.Options{Newer: true})
	return err
}

func record(ctx context.Context, file string, load fetch.Loader, urls ...string) error {
	w, err := warc.Create(file, warc.WriterOptions{Index: true, Format: capture.Format})
	if err != nil {
		return err
	}
	defer w.Close()
	c := fetch.New(&fetch.Options{Recorder: capture.New(w, nil, nil)}, load)
	defer c.Close()
	for _, rawURL := range urls {
		if _, err := c.ReadAll(ctx, rawURL, 1<<20); err != nil {
			return err
		}
	}
	return w.Close()
}

func replayed(a *replay.Archive, load fetch.Loader) *fetch.Client {
	return fetch.New(&fetch.Options{Middleware: []fetch.Middleware{a.Middleware(replay.Options{Only: true})}},
		load)
}
