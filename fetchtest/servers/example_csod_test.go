package servers_test

import (
	"fmt"
	"log"
	"net/textproto"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/csod"
)

// csoQuery is the client under test.
func csoQuery(addr, words string) (lines []string, err error) {
	c, err := textproto.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.PrintfLine("query %s", words)
	for {
		line, err := c.ReadLine()
		if err != nil {
			return lines, err
		}
		lines = append(lines, line)
		if line[0] != '-' { // last line
			return lines, nil
		}
	}
}

// A test calls Start(t, options) instead of New and Close.
func Example_csod() {
	s, err := csod.New(csod.Options{Replies: map[string]string{"smith": "-200:1:name: joe smith\r\n-200:1:email: joe@example.org\r\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	lines, err := csoQuery(s.Addr, "smith")
	fmt.Printf("%q %v\n", lines, err)
	lines, err = csoQuery(s.Addr, "jones")
	fmt.Printf("%q %v\n", lines, err)

	s.Arm(servers.Failure{Fault: servers.Cut, After: 24})
	lines, err = csoQuery(s.Addr, "smith")
	fmt.Printf("%q %v\n", lines, err)
	// Output:
	// ["-200:1:name: joe smith" "-200:1:email: joe@example.org" "200:Ok."] <nil>
	// ["501:No matches to your query."] <nil>
	// ["-200:1:name: joe smith"] EOF
}
