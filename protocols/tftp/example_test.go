package tftp_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/tftpd"
	"github.com/urlget/urlget/protocols/tftp"
)

// Retrieve a file.
func Example() {
	s, err := tftpd.New(tftpd.Options{Tree: fstest.MapFS{"pub/readme.txt": {Data: []byte("Read me.\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, tftp.Load)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "tftp://"+s.Addr+"/pub/readme.txt", 1<<20)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "Read me.\n" <nil>
}
