package servers_test

import (
	"fmt"
	"io"
	"log"
	"net"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/queryd"
)

// queryFinger is the client under test.
func queryFinger(addr, user string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\r\n", user)
	response, err := io.ReadAll(conn)
	return string(response), err
}

// A test calls Start(t, options) instead of New and Close.
func Example_queryd() {
	s, err := queryd.New(queryd.Options{Scheme: "finger", Replies: map[string]string{"alice": "Login: alice\r\nNo plan.\r\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	response, err := queryFinger(s.Addr, "alice")
	fmt.Printf("%q, %v\n", response, err)
	s.Fail(servers.Cut)
	response, err = queryFinger(s.Addr, "alice")
	fmt.Printf("%q, %v\n", response, err)
	fmt.Println(s.Log())
	// Output:
	// "Login: alice\r\nNo plan.\r\n", <nil>
	// "Login: alice", <nil>
	// [alice alice]
}
