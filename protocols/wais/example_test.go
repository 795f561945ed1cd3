package wais_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/protocols/wais"
)

func ExampleWith() {
	s, err := waisd.New(waisd.Options{Tree: fstest.MapFS{
		"fruit/pear.txt": {Data: []byte("A pear is a fruit.\n")},
		"fruit/plum.txt": {Data: []byte("A plum is a fruit.\n")},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, wais.With(wais.Options{MaxHits: 1}))
	defer c.Close()
	for e, err := range c.List(context.Background(), s.URL+"/fruit?fruit") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Kind, e.Size)
	}
	// Output:
	// object 19
}
