package servers_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
)

// gopherGet stands for the client under test.
func gopherGet(addr, selector string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s\r\n", selector)
	content, err := io.ReadAll(conn)
	return string(content), err
}

// A test calls Start(t, options) instead of New and Close.
func Example_gopherd() {
	s, err := gopherd.New(gopherd.Options{Text: true, Tree: fstest.MapFS{
		"docs/hello.txt": {Data: []byte("Hello, world.\r\n")},
		"docs/logo.gif":  {Data: []byte("GIF89a")},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	menu, _ := gopherGet(s.Addr, "/docs")
	for line := range strings.Lines(menu) {
		item, _, _ := strings.Cut(line, "\t")
		fmt.Println(strings.TrimSpace(item))
	}

	s.Arm(servers.Failure{Fault: servers.Cut, On: "/docs/hello.txt", After: 5})
	fmt.Println(gopherGet(s.Addr, "/docs/hello.txt"))
	// Output:
	// 0hello.txt
	// 9logo.gif
	// .
	// Hello <nil>
}
