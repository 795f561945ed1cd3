package gopher_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/protocols/gopher"
)

func ExampleLoad() {
	s, err := gopherd.New(gopherd.Options{Tree: fstest.MapFS{"fruit/apple.txt": {Data: []byte("red")}, "about.txt": {}}, Text: true})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, gopher.Load)
	defer c.Close()
	for e, err := range c.List(context.Background(), s.URL+"/1/") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Kind, e.Name, e.URL.Path())
	}
	// Output:
	// object about.txt /0/about.txt
	// listing fruit /1/fruit
}
