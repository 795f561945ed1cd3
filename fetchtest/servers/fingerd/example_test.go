package fingerd_test

import (
	"fmt"
	"io"
	"log"
	"net"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/fingerd"
)

// finger is the client under test.
func finger(addr, user string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\r\n", user)
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// In a test, Start(t, options) takes the place of New and Close.
func Example() {
	s, err := fingerd.New(fingerd.Options{Answers: map[string]string{"alice": "Login: alice\r\nNo plan.\r\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	answer, err := finger(s.Addr, "alice")
	fmt.Printf("%q, %v\n", answer, err)
	s.Fail(servers.Cut)
	answer, err = finger(s.Addr, "alice")
	fmt.Printf("%q, %v\n", answer, err)
	fmt.Println(s.Log())
	// Output:
	// "Login: alice\r\nNo plan.\r\n", <nil>
	// "Login: alice", <nil>
	// [alice alice]
}
