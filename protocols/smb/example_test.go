package smb_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/smbd"
	"github.com/urlget/urlget/protocols/smb"
)

// List a directory of a share.
func Example() {
	s, err := smbd.New(smbd.Options{Users: map[string]string{"joe": "secret"}, Tree: fstest.MapFS{"pub/readme.txt": {Data: []byte("Read me.\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, smb.Load)
	defer c.Close()
	for e, err := range c.List(context.Background(), "smb://joe:secret@"+s.Addr+"/share/pub/") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Kind, e.Name, e.Size)
	}
	// Output:
	// object readme.txt 9
}
