package capture_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
	"github.com/urlget/urlget/protocols/nex"
)

// Record everything that a client retrieves in an archive with an index.
func Example() {
	s, err := nexd.New(nexd.Options{Replies: map[string]string{"rain.txt": "a poem about rain\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w, err := warc.Create(filepath.Join(dir, "poems.warc.gz"), warc.WriterOptions{Index: true, Format: capture.Format})
	if err != nil {
		log.Fatal(err)
	}
	c := fetch.New(&fetch.Options{Recorder: capture.New(w, nil, nil)}, nex.Load)
	defer c.Close()
	if _, err := c.ReadAll(context.Background(), s.URL+"/rain.txt", 1<<20); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	index, err := os.Open(filepath.Join(dir, "poems.cdxj"))
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()
	if err := warc.ReadIndex(index, func(e warc.IndexEntry) error {
		fmt.Println(strings.TrimPrefix(e.URL, s.URL), e.Mime, e.File)
		return nil
	}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// /rain.txt text/plain poems.warc.gz
	// /rain.txt application/x-urlget-exchange+json poems.warc.gz
}
