package urlget_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/protocols"
)

// server starts an FTP server for an example.
func server() *ftpd.Server {
	s, err := ftpd.New(ftpd.Options{Tree: fstest.MapFS{
		"pub/readme.txt": {Data: []byte("Welcome.\n")},
		"pub/pear.txt":   {Data: []byte("A pear is a fruit.\n")},
	}})
	if err != nil {
		log.Fatal(err)
	}
	return s
}

// Read a resource, whatever its scheme. Errors have a class.
func Example_read() {
	s, err := gopherd.New(gopherd.Options{Tree: fstest.MapFS{"about.txt": {Data: []byte("A small hole.\n")}}, Text: true})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, protocols.All)
	defer c.Close()
	for _, rawURL := range []string{"data:,hello", s.URL + "/0/about.txt", s.URL + "/0/none"} {
		text, err := c.ReadAll(context.Background(), rawURL, 1<<20)
		fmt.Printf("%q, class %q\n", text, string(fetch.CodeOf(err)))
	}
	// Output:
	// "hello", class ""
	// "A small hole.\n", class ""
	// "", class "not_found"
}

// Save a file. If the program is killed, the next one resumes the download.
func Example_download() {
	s := server()
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
	c := fetch.New(nil, protocols.All)
	defer c.Close()

	d := &download.Downloader{Client: c, Root: root}
	r, err := d.Get(context.Background(), s.URL+"/pub/pear.txt", "", &download.Options{Exists: download.Resume})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Name, r.Size, d.Flush())
	// Output:
	// pear.txt 19 <nil>
}

// Keep a copy of a tree: of an FTP or web site, a gopher hole or a newsgroup.
func Example_mirror() {
	s := server()
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
	c := fetch.New(nil, protocols.All)
	defer c.Close()

	d := &download.Downloader{Client: c, Root: root}
	if _, err := mirror.Run(context.Background(), d, []uri.URI{uri.MustParse(s.URL + "/pub/")}, &mirror.Options{Newer: true}); err != nil {
		log.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "pub", "*"))
	for _, name := range files {
		fmt.Println(filepath.Base(name))
	}
	// Output:
	// pear.txt
	// readme.txt
}
