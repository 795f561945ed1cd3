package servers_test

import (
	"fmt"
	"io"
	"log"
	"net"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/popd"
)

// popTalk is the client under test.
func popTalk(addr, commands string) (string, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	io.WriteString(c, commands)
	all, err := io.ReadAll(c)
	return string(all), err
}

// A test calls Start(t, options) instead of New and Close.
func Example_popd() {
	s, err := popd.New(popd.Options{User: "joe", Password: "secret", Messages: []popd.Message{
		{UID: "u1", Text: "Subject: Hello\n\n.plan\n"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	text, err := popTalk(s.Addr, "USER joe\r\nPASS secret\r\nUIDL\r\nRETR 1\r\nQUIT\r\n")
	fmt.Printf("%q %v\n", text, err)
	s.Fail(servers.Cut)
	text, err = popTalk(s.Addr, "USER joe\r\nPASS secret\r\nRETR 1\r\n")
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "+OK popd ready\r\n+OK password?\r\n+OK welcome\r\n+OK\r\n1 u1\r\n.\r\n+OK 25 octets\r\nSubject: Hello\r\n\r\n..plan\r\n.\r\n+OK bye\r\n" <nil>
	// "+OK popd ready\r\n+OK password?\r\n+OK welcome\r\n+OK 25 octets\r\nSubject: Hell" <nil>
}
