package nntp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/protocols/nntp"
)

// A news URL without a host uses Options.Server. The example lists only the last article of a group.
func ExampleWith() {
	s, err := nntpd.New(nntpd.Options{Groups: []nntpd.Group{{Name: "example.test", Articles: []nntpd.Article{
		{ID: "<1@example.org>", Text: "Subject: Hello\n\n"},
		{ID: "<2@example.org>", Text: "Subject: Hello again\n\n"},
	}}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, nntp.With(nntp.Options{Server: s.Addr, Newest: 1}))
	defer c.Close()
	for e, err := range c.List(context.Background(), "news:example.test") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Name)
	}
	// Output:
	// Hello again
}
