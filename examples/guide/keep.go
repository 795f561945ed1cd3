package guide

import (
	"context"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/fetchfs"
	"github.com/urlget/urlget/fetch/fetchhttp"
)

func save(ctx context.Context, c *fetch.Client, dir string, urls ...string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	d := &download.Downloader{Client: c, Root: root}
	for _, rawURL := range urls {
		if _, err := d.Get(ctx, rawURL, "", &download.Options{Exists: download.Resume}); err != nil {
			return err
		}
	}
	return d.Flush()
}

func watched(ctx context.Context, d *download.Downloader, rawURL string, show func(done, total int64)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Hour) // for all tries
	defer cancel()
	_, err := d.Get(ctx, rawURL, "", &download.Options{Progress: show, Exists: download.Resume})
	return err
}

func texts(ctx context.Context, c *fetch.Client, rawURL string) ([]string, error) {
	return fs.Glob(fetchfs.New(ctx, c, rawURL), "*/*.txt")
}

func gateway(ctx context.Context, c *fetch.Client, rawURL string) http.Handler {
	return http.FileServerFS(fetchfs.New(ctx, c, rawURL))
}

func browser(c *fetch.Client) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	fetchhttp.Register(t, c, "ftp", "gopher")
	return &http.Client{Transport: t}
}
