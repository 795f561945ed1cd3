package mid_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/mid"
)

// A message in a mailbox, by its identifier.
func ExampleWith() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	mbox := filepath.Join(dir, "mbox")
	mail := "From ann Mon Feb  3 04:05:06 2020\nSubject: lunch\nMessage-ID: <1@example.org>\n\nAt noon?\n"
	if err := os.WriteFile(mbox, []byte(mail), 0o600); err != nil {
		log.Fatal(err)
	}
	c := fetch.New(nil, mid.With(mid.Options{Mailboxes: []string{mbox}, CacheDir: dir}))
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "mid:1@example.org", 0)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "Subject: lunch\nMessage-ID: <1@example.org>\n\nAt noon?\n" <nil>
}
