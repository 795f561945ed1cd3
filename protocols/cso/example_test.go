package cso_test

import (
	"context"
	"fmt"
	"log"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/csod"
	"github.com/urlget/urlget/protocols/cso"
)

func Example() {
	s, err := csod.New(csod.Options{Replies: map[string]string{
		"smith": "-200:1:name: joe smith\r\n-200:1:email: joe@example.org\r\n",
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, cso.Load)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), s.URL+"/smith", 0)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "-200:1:name: joe smith\r\n-200:1:email: joe@example.org\r\n200:Ok.\r\n" <nil>
}
