package servers_test

import (
	"fmt"
	"io"
	"log"
	"net"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
)

// imapTalk is the client under test.
func imapTalk(addr, commands string) (string, error) {
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
func Example_imapd() {
	s, err := imapd.New(imapd.Options{User: "joe", Password: "secret", Mailboxes: map[string][]imapd.Message{
		"INBOX": {{Text: []byte("Subject: Hello\r\n\r\nHello.\r\n")}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	const commands = "1 LOGIN \"joe\" \"secret\"\r\n2 EXAMINE \"INBOX\"\r\n3 UID FETCH 1 (BODY.PEEK[TEXT])\r\n4 LOGOUT\r\n"
	text, err := imapTalk(s.Addr, commands)
	fmt.Printf("%q %v\n", text, err)
	s.Fail(servers.Cut)
	text, err = imapTalk(s.Addr, commands)
	fmt.Printf("%q %v\n", text[len(text)-10:], err)
	// Output:
	// "* OK imapd ready\r\n1 OK welcome\r\n* 1 EXISTS\r\n* OK [UIDVALIDITY 385759045] valid\r\n2 OK done\r\n* 1 FETCH (BODY[TEXT] {8}\r\nHello.\r\n UID 1)\r\n3 OK done\r\n* BYE\r\n4 OK bye\r\n" <nil>
	// " {8}\r\nHell" <nil>
}
