package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/textproto"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/queryd"
)

// A server for a protocol without a package here. It replies to "GET NAME" with a text, and to
// "QUIT".
func Example() {
	s, err := servers.New(servers.Config{Scheme: "x-text"}, func(c *servers.Conn) {
		c.Reply("hello")
		for {
			line, err := c.ReadLine()
			if err != nil {
				return
			}
			name, ok := strings.CutPrefix(line, "GET ")
			if !ok {
				c.Reply("bye")
				return
			}
			c.Send([]byte("This is " + name + ".\r\n"))
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	get := func(name string) (lines []string) {
		conn, err := net.Dial("tcp", s.Addr)
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET %s\r\nQUIT\r\n", name)
		for in := bufio.NewScanner(conn); in.Scan(); {
			lines = append(lines, in.Text())
		}
		return lines
	}
	fmt.Printf("%q\n", get("one"))
	s.Fail(servers.Cut)
	fmt.Printf("%q\n", get("two"))
	fmt.Printf("%q\n", s.Log())
	// Output:
	// ["hello" "This is one." "bye"]
	// ["hello" "This is"]
	// ["GET one" "QUIT" "GET two"]
}

// Only the response to one request never ends.
func ExampleServer_Arm() {
	s, err := queryd.New(queryd.Options{Scheme: "finger"})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	s.Arm(servers.Failure{Fault: servers.Endless, On: "alice", After: 7, Times: -1})
	for _, user := range []string{"alice", "bob"} {
		conn, err := net.Dial("tcp", s.Addr)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\r\n", user)
		line, err := textproto.NewReader(bufio.NewReader(io.LimitReader(conn, 1<<20))).ReadLine()
		fmt.Println(line, err)
		n, _ := io.Copy(io.Discard, io.LimitReader(conn, 1<<20))
		fmt.Println("more than a mebibyte:", n == 1<<20)
		conn.Close()
	}
	// Output:
	// No match for "alice". <nil>
	// more than a mebibyte: true
	// No match for "bob". <nil>
	// more than a mebibyte: false
}
