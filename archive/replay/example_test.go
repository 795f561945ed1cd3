package replay_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
	"github.com/urlget/urlget/protocols/nex"
)

// Replay the responses that another client has captured, without any request to a server.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "poems.warc.gz")
	u := captureTo(ctx, name) // the server is closed after that

	a, err := replay.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{a.Middleware(replay.Options{Only: true})}}, nex.Load)
	defer c.Close()
	text, err := c.ReadAll(ctx, u, 1<<20)
	fmt.Printf("%q %v\n", text, err)
	_, err = c.ReadAll(ctx, u+".old", 1<<20)
	fmt.Println(fetch.CodeOf(err))
	// Output:
	// "a poem about rain\n" <nil>
	// not found
}

// captureTo retrieves a URL into a WARC file and returns the URL.
func captureTo(ctx context.Context, name string) string {
	s, err := nexd.New(nexd.Options{Replies: map[string]string{"rain.txt": "a poem about rain\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	w, err := warc.Create(name, warc.WriterOptions{Format: capture.Format})
	if err != nil {
		log.Fatal(err)
	}
	c := fetch.New(&fetch.Options{Recorder: capture.New(w, nil, nil)}, nex.Load)
	defer c.Close()
	if _, err := c.ReadAll(ctx, s.URL+"/rain.txt", 1<<20); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	return s.URL + "/rain.txt"
}
