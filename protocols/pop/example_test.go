package pop_test

import (
	"context"
	"fmt"
	"log"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/popd"
	"github.com/urlget/urlget/protocols/pop"
)

// The listing of a maildrop contains permanent URLs of its messages. The example allows a plaintext
// password, because the server has no TLS.
func ExampleWith() {
	s, err := popd.New(popd.Options{User: "joe", Password: "secret", Messages: []popd.Message{
		{UID: "whqtswO00WBw418f9t5JxYwZ", Text: "Subject: Hello\n\nHello.\n"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, pop.With(pop.Options{AllowPlaintext: true}))
	defer c.Close()
	for e, err := range c.List(context.Background(), "pop://joe:secret@"+s.Addr) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Name, e.Size)
	}
	// Output:
	// whqtswO00WBw418f9t5JxYwZ 26
}
