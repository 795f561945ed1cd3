// Mirror keeps a copy of a tree of URLs, whatever their scheme, in a directory. A second run only
// retrieves changes:
//
//	go run ./examples/mirror ftp://ftp.example/pub/ copy
package main

import (
	"context"
	"log"
	"os"

	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: mirror URL DIRECTORY")
	}
	if err := keep(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func keep(ctx context.Context, rawURL, dir string) error {
	seed, err := uri.Parse(rawURL)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	c := fetch.New(nil, protocols.All)
	defer c.Close()
	_, err = mirror.Run(ctx, &download.Downloader{Client: c, Root: root}, []uri.URI{seed}, &mirror.Options{
		Newer: true,
		Ended: func(e mirror.Event) { log.Println(e.Outcome, e.Path, e.URL.Redacted()) },
	})
	return err
}
