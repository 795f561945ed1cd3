package z3950_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/z3950d"
	"github.com/urlget/urlget/protocols/z3950"
)

// Retrieve a record by its identifier.
func Example() {
	s, err := z3950d.New(z3950d.Options{Tree: fstest.MapFS{"poems/rain": {Data: []byte("a poem about rain\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, z3950.Load)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "z39.50r://"+s.Addr+"/poems?rain", 1<<20)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "a poem about rain\n" <nil>
}
