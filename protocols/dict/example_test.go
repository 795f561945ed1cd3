package dict_test

import (
	"context"
	"fmt"
	"log"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/dictd"
	"github.com/urlget/urlget/protocols/dict"
)

func Example() {
	s, err := dictd.New(dictd.Options{Words: map[string]string{"pear": "A sweet fruit.\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, dict.Load)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), s.URL+"/d:pear", 0)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "From The Tree [tree]:\r\n\r\nA sweet fruit.\r\n" <nil>
}
