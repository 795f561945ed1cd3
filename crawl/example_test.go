package crawl_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/protocols/ftp"
)

// List the URLs of an FTP site, up to one link away from the start directory.
func ExampleRun() {
	s, err := ftpd.New(ftpd.Options{Tree: fstest.MapFS{
		"motd":            {Data: []byte("Welcome.\n")},
		"pub/readme.txt":  {Data: []byte("Read me.\n")},
		"pub/old/one.txt": {Data: []byte("1\n")},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	client := fetch.New(nil, ftp.Load)
	defer client.Close()
	report, err := crawl.Run(context.Background(), client, []uri.URI{uri.MustParse(s.URL + "/")}, &crawl.Options{
		Scope:    crawl.Scope{MaxDepth: 1},
		Schedule: schedule.Options{Parallel: 2},
		Ended:    func(p *crawl.Page, err error) { fmt.Println(p.Depth, p.URL.Path(), err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Visited, "visited,", report.Left, "left")
	// Unordered output:
	// 0 / <nil>
	// 1 /motd <nil>
	// 1 /pub/ <nil>
	// 3 visited, 2 left
}
