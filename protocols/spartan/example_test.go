package spartan_test

import (
	"context"
	"fmt"
	"log"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/spartand"
	"github.com/urlget/urlget/protocols/spartan"
)

// The query of a URL is the text to send.
func Example() {
	s, err := spartand.New(spartand.Options{Replies: map[string]string{"/echo?two words": "2 text/plain\r\nyou said: two words\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, spartan.Load)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), s.URL+"/echo?two%20words", 0)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "you said: two words\n" <nil>
}
