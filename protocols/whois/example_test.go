package whois_test

import (
	"context"
	"fmt"
	"log"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/queryd"
	"github.com/urlget/urlget/protocols/whois"
)

func Example() {
	s, err := queryd.New(queryd.Options{Scheme: "whois", Replies: map[string]string{"example.org": "domain: example.org\r\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, whois.Load)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), s.URL+"/example.org", 0)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "domain: example.org\r\n" <nil>
}
