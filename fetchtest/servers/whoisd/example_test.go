package whoisd_test

import (
	"fmt"
	"io"
	"log"
	"net"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/whoisd"
)

// whois is the client under test.
func whois(addr, query string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\r\n", query)
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// In a test, Start(t, options) takes the place of New and Close.
func Example() {
	s, err := whoisd.New(whoisd.Options{Answers: map[string]string{"example.org": "domain: example.org\r\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	answer, err := whois(s.Addr, "example.org")
	fmt.Printf("%q, %v\n", answer, err)
	answer, err = whois(s.Addr, "example.net")
	fmt.Printf("%q, %v\n", answer, err)

	s.Fail(servers.Reset)
	_, err = whois(s.Addr, "example.org")
	fmt.Println("reset:", err != nil)
	// Output:
	// "domain: example.org\r\n", <nil>
	// "No match for \"example.net\".\r\n", <nil>
	// reset: true
}
