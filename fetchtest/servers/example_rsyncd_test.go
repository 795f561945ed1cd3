package servers_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/rsyncd"
)

// rsyncModule is the client under test. It returns the lines after the greeting.
func rsyncModule(addr, module string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "@RSYNCD: 31.0\n%s\n", module)
	var version float64
	if _, err := fmt.Fscanf(conn, "@RSYNCD: %f\n", &version); err != nil {
		return "", err
	}
	lines, err := io.ReadAll(conn)
	return string(lines), err
}

// A test calls Start(t, options) instead of New and Close.
func Example_rsyncd() {
	s, err := rsyncd.New(rsyncd.Options{Module: "pub", Comment: "Public files", Tree: fstest.MapFS{"hello.txt": {Data: []byte("hello")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, module := range []string{"#list", "none"} {
		lines, err := rsyncModule(s.Addr, module)
		fmt.Printf("%q, %v\n", lines, err)
	}
	s.Arm(servers.Failure{Fault: servers.Cut, On: servers.Greeting})
	_, err = rsyncModule(s.Addr, "#list")
	fmt.Println(err)
	// Output:
	// "pub            \tPublic files\r\n@RSYNCD: EXIT\r\n", <nil>
	// "@ERROR: Unknown module 'none'\r\n", <nil>
	// unexpected EOF
}
