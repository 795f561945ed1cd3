package nfs_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/nfsd"
	"github.com/urlget/urlget/protocols/nfs"
)

// A file below the public directory of a server.
func Example() {
	s, err := nfsd.New(nfsd.Options{Public: ".", Tree: fstest.MapFS{"pub/readme.txt": {Data: []byte("Read me.\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, nfs.Load)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "nfs://"+s.Addr+"/pub/readme.txt", 1<<20)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "Read me.\n" <nil>
}
