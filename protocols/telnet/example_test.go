package telnet_test

import (
	"context"
	"fmt"
	"io"
	"log"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
	"github.com/urlget/urlget/protocols/telnet"
)

// The server requests the terminal type and then a name.
func ExampleWith() {
	s, err := telnetd.New(telnetd.Options{Script: func(c *telnetd.Conn) {
		c.Send("\xff\xfd\x18login: ") // IAC DO TERMINAL-TYPE
		if c.Expect("\xff\xfb\x18") && c.Expect("joe\r\n") {
			c.Send("Welcome.\r\n")
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, telnet.With(telnet.Options{TermType: "vt100", CRLF: true}))
	defer c.Close()
	session, err := c.Dial(context.Background(), s.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	prompt := make([]byte, len("login: "))
	if _, err := io.ReadFull(session, prompt); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", prompt)
	io.WriteString(session, "joe\n")
	rest, err := io.ReadAll(session)
	fmt.Printf("%q %v\n", rest, err)
	// Output:
	// login: "Welcome.\r\n" <nil>
}
