package servers_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/textproto"
	"strings"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// ftpRetrieve is the client under test.
func ftpRetrieve(addr, name string) (string, error) {
	c, err := textproto.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	var reply string
	for _, step := range []struct {
		command string
		code    int
	}{{"", 220}, {"USER anonymous", 331}, {"PASS me@example.org", 230}, {"EPSV", 229}} {
		if step.command != "" {
			c.PrintfLine("%s", step.command)
		}
		if _, reply, err = c.ReadResponse(step.code); err != nil {
			return "", err
		}
	}
	host, _, _ := net.SplitHostPort(addr)
	data, err := net.Dial("tcp", net.JoinHostPort(host, strings.Split(reply, "|")[3]))
	if err != nil {
		return "", err
	}
	defer data.Close()
	c.PrintfLine("RETR %s", name)
	if _, _, err := c.ReadResponse(150); err != nil {
		return "", err
	}
	content, err := io.ReadAll(data)
	if err != nil {
		return "", err
	}
	_, _, err = c.ReadResponse(226)
	return string(content), err
}

// A test calls Start(t, options) instead of New and Close.
func Example_ftpd() {
	s, err := ftpd.New(ftpd.Options{Tree: fstest.MapFS{"pub/readme.txt": {Data: []byte("Hello, world.\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	fmt.Println(ftpRetrieve(s.Addr, "pub/readme.txt"))
	fmt.Println(s.Log())

	s.Fail(servers.Abort) // half of the file, and then an error
	fmt.Println(ftpRetrieve(s.Addr, "pub/readme.txt"))

	s.Arm(servers.Failure{Fault: servers.Cut, On: "EPSV", After: -1})
	_, err = ftpRetrieve(s.Addr, "pub/readme.txt")
	fmt.Println(err)
	// Output:
	// Hello, world.
	//  <nil>
	// [USER anonymous PASS me@example.org EPSV RETR pub/readme.txt]
	// Hello,  426 "Enough."
	// EOF
}
