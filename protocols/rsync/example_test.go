package rsync_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/rsyncd"
	"github.com/urlget/urlget/protocols/rsync"
)

// A file of a module.
func Example() {
	s, err := rsyncd.New(rsyncd.Options{Module: "pub", Tree: fstest.MapFS{"readme.txt": {Data: []byte("Read me.\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, rsync.Load)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "rsync://"+s.Addr+"/pub/readme.txt", 1<<20)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "Read me.\n" <nil>
}
