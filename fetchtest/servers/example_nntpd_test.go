package servers_test

import (
	"fmt"
	"log"
	"net/textproto"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
)

// nntpArticle is the client under test.
func nntpArticle(addr, id string) ([]string, error) {
	c, err := textproto.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if _, _, err := c.ReadCodeLine(200); err != nil {
		return nil, err
	}
	c.PrintfLine("ARTICLE %s", id)
	if _, _, err := c.ReadCodeLine(220); err != nil {
		return nil, err
	}
	return c.ReadDotLines()
}

// A test calls Start(t, options) instead of New and Close.
func Example_nntpd() {
	s, err := nntpd.New(nntpd.Options{Groups: []nntpd.Group{{
		Name:     "example.test",
		Articles: []nntpd.Article{{ID: "<1@example.org>", Text: "Subject: Hello\n\n.plan\n"}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	lines, err := nntpArticle(s.Addr, "<1@example.org>")
	fmt.Printf("%q %v\n", lines, err)
	_, err = nntpArticle(s.Addr, "<2@example.org>")
	fmt.Println(err)

	s.Fail(servers.Cut)
	lines, err = nntpArticle(s.Addr, "<1@example.org>")
	fmt.Printf("%q %v\n", lines, err)

	s.Arm(servers.Failure{Fault: servers.Noise, On: servers.Greeting})
	_, err = nntpArticle(s.Addr, "<1@example.org>")
	fmt.Println(err)
	// Output:
	// ["Subject: Hello" "" ".plan"] <nil>
	// 430 "no such article"
	// ["Subject: Hell"] unexpected EOF
	// short response: "\x00\xff\x7f\x1b[31m noise"
}
