package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

// trees mirrors the servers' tree with each scheme that has one and compares the copies with it.
func (v *site) trees(ctx context.Context, client *fetch.Client, out io.Writer) error {
	for _, seed := range []string{"http", "https", "ftp", "ftps", "gopher", "gophers", "gemini", "spartan",
		"nex", "prospero"} {
		begin := time.Now()
		n, err := v.copyTree(ctx, client, uri.MustParse(seed+"://"+v.Addr(seed)+"/"))
		if err != nil {
			return fmt.Errorf("mirror of %s: %w", seed, err)
		}
		fmt.Fprintf(out, "%s: a copy of the tree, %d files, all the same, in %.1f ms\n", seed, n,
			float64(time.Since(begin).Microseconds())/1000)
	}
	return nil
}

// copyTree mirrors seed into a new directory and returns the number of files of the tree that are
// there.
func (v *site) copyTree(ctx context.Context, client *fetch.Client, seed uri.URI) (n int, err error) {
	dir, err := os.MkdirTemp("", "urlget-tour-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	var failed error
	_, err = mirror.Run(ctx, &download.Downloader{Client: client, Root: root}, []uri.URI{seed},
		&mirror.Options{
			Layout: mirror.Layout{NoHost: true},
			Crawl:  crawl.Options{Scope: crawl.Scope{MaxDepth: -1}},
			Ended: func(e mirror.Event) {
				if e.Err != nil {
					failed = e.Err
				}
			},
		})
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, err
	}
	err = fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		n++
		got, err := fs.ReadFile(root.FS(), path.Clean(name))
		if err == nil && !bytes.Equal(got, tree[name].Data) {
			err = fmt.Errorf("%s differs from the original", name)
		}
		return err
	})
	return n, err
}
