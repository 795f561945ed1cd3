package mailto_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/mailto"
)

// The example lists the messages in a mailbox that are to or from an address.
func ExampleWith() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	mbox := filepath.Join(dir, "mbox")
	mail := "From ann Mon Feb  3 04:05:06 2020\nFrom: ann@example.org\nTo: joe@example.org\nSubject: lunch\nMessage-ID: <1@example.org>\n\nAt noon?\n"
	if err := os.WriteFile(mbox, []byte(mail), 0o600); err != nil {
		log.Fatal(err)
	}
	c := fetch.New(nil, mailto.With(mailto.Options{Mailboxes: []string{mbox}}))
	defer c.Close()
	for e, err := range c.List(context.Background(), "mailto:joe@example.org") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Name, e.URL)
	}
	// Output:
	// lunch mid:1@example.org
}
