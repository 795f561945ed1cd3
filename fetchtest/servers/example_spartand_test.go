package servers_test

import (
	"fmt"
	"io"
	"log"
	"net"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/spartand"
)

// spartanGet stands for the client under test.
func spartanGet(addr, path, data string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "localhost %s %d\r\n%s", path, len(data), data)
	response, err := io.ReadAll(conn)
	return string(response), err
}

// A test calls Start(t, options) instead of New and Close.
func Example_spartand() {
	s, err := spartand.New(spartand.Options{Replies: map[string]string{
		"/":           "2 text/gemini\r\n# Hello\n=: /say\n",
		"/say?hello!": "3 /",
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, request := range [][2]string{{"/", ""}, {"/say", "hello!"}, {"/none", ""}} {
		response, err := spartanGet(s.Addr, request[0], request[1])
		fmt.Printf("%q, %v\n", response, err)
	}
	s.Fail(servers.Cut)
	response, err := spartanGet(s.Addr, "/", "")
	fmt.Printf("%q, %v\n", response, err)
	// Output:
	// "2 text/gemini\r\n# Hello\n=: /say\n", <nil>
	// "3 /\r\n", <nil>
	// "4 Not found\r\n", <nil>
	// "2 text/gemini\r\n# Hello\n", <nil>
}
