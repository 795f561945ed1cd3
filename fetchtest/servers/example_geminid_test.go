package servers_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
)

// geminiGet stands for the client under test.
func geminiGet(s *servers.Server, path string) (string, error) {
	_, trusting := servers.Certificate()
	conn, err := tls.Dial("tcp", s.Addr, trusting)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "gemini://localhost%s\r\n", path)
	response, err := io.ReadAll(conn)
	return string(response), err
}

// A test calls Start(t, options) instead of New and Close.
func Example_geminid() {
	s, err := geminid.New(geminid.Options{Replies: map[string]string{
		"/":       "20 text/gemini\r\n# Hello\n=> /search\n",
		"/search": "10 What for?",
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, path := range []string{"/", "/search", "/none"} {
		response, err := geminiGet(s, path)
		fmt.Printf("%q, %v\n", response, err)
	}
	s.Fail(servers.Cut)
	response, err := geminiGet(s, "/")
	fmt.Printf("%q, %v\n", response, err)
	// Output:
	// "20 text/gemini\r\n# Hello\n=> /search\n", <nil>
	// "10 What for?\r\n", <nil>
	// "51 Not found\r\n", <nil>
	// "20 text/gemini\r\n# Hello\n=", <nil>
}
