package finger_test

import (
	"context"
	"fmt"
	"log"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/queryd"
	"github.com/urlget/urlget/protocols/finger"
)

func Example() {
	s, err := queryd.New(queryd.Options{Scheme: "finger", Replies: map[string]string{"alice": "Login: alice\r\nNo plan.\r\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, finger.Load)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), s.URL+"/alice", 0)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "Login: alice\r\nNo plan.\r\n" <nil>
}
