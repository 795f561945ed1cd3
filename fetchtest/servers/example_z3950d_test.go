package servers_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/z3950d"
	"github.com/urlget/urlget/protocols/z3950"
)

// A test calls Start(t, options) instead of New and Close.
func Example_z3950d() {
	s, err := z3950d.New(z3950d.Options{Tree: fstest.MapFS{"poems/rain": {Data: []byte("a poem about rain\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, z3950.Load) // the client under test
	defer c.Close()
	s.Fail(servers.Cut)
	_, err = c.ReadAll(context.Background(), "z39.50r://"+s.Addr+"/poems?rain", 1<<20)
	fmt.Println(fetch.CodeOf(err))
	text, err := c.ReadAll(context.Background(), "z39.50r://"+s.Addr+"/poems?rain", 1<<20)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// network failure
	// "a poem about rain\n" <nil>
}
