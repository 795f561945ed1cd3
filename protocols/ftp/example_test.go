package ftp_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/protocols/ftp"
)

// Text files are retrieved as text, with the requested line endings.
func ExampleWith() {
	s, err := ftpd.New(ftpd.Options{Tree: fstest.MapFS{"motd.txt": {Data: []byte("welcome\r\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, ends := range []fetch.LineEnds{fetch.LineEndsAsIs, fetch.LineEndsLF} {
		c := fetch.New(&fetch.Options{TextLineEnds: ends}, ftp.With(ftp.Options{GuessType: true}))
		text, err := c.ReadAll(context.Background(), s.URL+"/motd.txt", 0)
		fmt.Printf("%q %v\n", text, err)
		c.Close()
	}
	// Output:
	// "welcome\r\n" <nil>
	// "welcome\n" <nil>
}
