package mirror_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/protocols/ftp"
)

// Mirror a tree twice. Nothing changes between the runs.
func ExampleRun() {
	s, err := ftpd.New(ftpd.Options{Tree: fstest.MapFS{
		"pub/readme.txt":  {Data: []byte("Read me.\n")},
		"pub/old/one.txt": {Data: []byte("1\n")},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()
	client := fetch.New(nil, ftp.Load)
	defer client.Close()

	files := &download.Downloader{Client: client, Root: root}
	opts := &mirror.Options{Newer: true, Layout: mirror.Layout{NoHost: true, CutDirs: 1}}
	for range 2 {
		report, err := mirror.Run(context.Background(), files, []uri.URI{uri.MustParse(s.URL + "/pub/")}, opts)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(report.Saved, "saved,", report.Unchanged, "unchanged")
	}
	text, err := root.ReadFile("old/one.txt")
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// 2 saved, 0 unchanged
	// 0 saved, 2 unchanged
	// "1\n" <nil>
}
