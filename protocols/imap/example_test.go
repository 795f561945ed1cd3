package imap_test

import (
	"context"
	"fmt"
	"log"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/protocols/imap"
)

// A URL with a search lists the matching messages. The example allows a plaintext password, because
// the server has no TLS.
func ExampleWith() {
	s, err := imapd.New(imapd.Options{User: "joe", Password: "secret", Mailboxes: map[string][]imapd.Message{
		"INBOX": {{Text: []byte("Subject: Hello\r\n\r\n")}, {Text: []byte("Subject: Invoice\r\n\r\n")}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, imap.With(imap.Options{AllowPlaintext: true}))
	defer c.Close()
	for e, err := range c.List(context.Background(), "imap://joe:secret@"+s.Addr+"/INBOX?SUBJECT%20Invoice") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Name, e.URL.Path())
	}
	// Output:
	// Invoice /INBOX;UIDVALIDITY=385759045/;UID=2
}
