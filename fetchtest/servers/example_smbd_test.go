package servers_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/smbd"
	"github.com/urlget/urlget/protocols/smb"
)

// A test calls Start(t, options) instead of New and Close.
func Example_smbd() {
	s, err := smbd.New(smbd.Options{Users: map[string]string{"joe": "secret"}, Tree: fstest.MapFS{"readme.txt": {Data: []byte("Read me.\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, smb.Load) // the client under test
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "smb://joe:secret@"+s.Addr+"/share/readme.txt", 1<<20)
	fmt.Printf("%q %v\n", text, err)
	s.Fail(servers.Cut)
	_, err = c.ReadAll(context.Background(), "smb://joe:secret@"+s.Addr+"/share/readme.txt", 1<<20)
	fmt.Println(fetch.CodeOf(err))
	// Output:
	// "Read me.\n" <nil>
	// transfer incomplete
}
