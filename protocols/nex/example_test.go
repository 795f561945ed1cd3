package nex_test

import (
	"context"
	"fmt"
	"log"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
	"github.com/urlget/urlget/protocols/nex"
)

func Example() {
	s, err := nexd.New(nexd.Options{Replies: map[string]string{"": "Hello.\n=> notes/ My notes\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, nex.Load)
	defer c.Close()
	for e, err := range c.List(context.Background(), s.URL+"/") {
		fmt.Println(e.Kind, e.Name, e.URL.Path(), err)
	}
	// Output:
	// listing My notes /notes/ <nil>
}
