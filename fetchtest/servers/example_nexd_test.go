package servers_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
)

// nexGet is the client under test.
func nexGet(addr, path string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\n", path)
	response, err := io.ReadAll(conn)
	return string(response), err
}

// A test calls Start(t, options) instead of New and Close.
func Example_nexd() {
	s, err := nexd.New(nexd.Options{Tree: fstest.MapFS{"notes/today": {Data: []byte("Sunny.\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, path := range []string{"", "notes/", "notes/today", "none"} {
		response, err := nexGet(s.Addr, path)
		fmt.Printf("%q, %v\n", response, err)
	}
	s.Fail(servers.Cut)
	response, err := nexGet(s.Addr, "notes/today")
	fmt.Printf("%q, %v\n", response, err)
	// Output:
	// "Members:\n=> ./notes/ notes/\n", <nil>
	// "Members:\n=> ./today today\n", <nil>
	// "Sunny.\n", <nil>
	// "There is no such document.\n", <nil>
	// "Sun", <nil>
}
