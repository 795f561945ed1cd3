package loopback_test

import (
	"context"
	"fmt"
	"io"
	"log"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/loopback"
	"github.com/urlget/urlget/protocols/gopher"
)

func ExampleNew() {
	servers, err := loopback.New(loopback.Options{Schemes: []string{"gopher"}})
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Close()
	c := fetch.New(nil, gopher.Load)
	defer c.Close()
	resp, err := c.Get(context.Background(), "gopher://"+servers.Addr("gopher")+"/0/fruit/pear.txt")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// A pear is a fruit.
	// <nil>
}
