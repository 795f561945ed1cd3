package protocols_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/nntp"
)

func ExampleAll() {
	c := fetch.New(nil, protocols.All)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "data:,hello%20there", 0)
	fmt.Printf("%s %v\n", text, err)
	_, err = c.Get(context.Background(), "mailto:joe@example.org")
	fmt.Println(errors.Is(err, fetch.ErrNotRetrievable))
	// Output:
	// hello there <nil>
	// true
}

// Drivers without options have their defaults.
func ExampleWith() {
	c := fetch.New(nil, protocols.With(protocols.Config{
		FTP:  &ftp.Options{GuessType: true},
		NNTP: &nntp.Options{Server: "news.example", Newest: 100},
	}))
	defer c.Close()
	x, err := c.Explain(&fetch.Request{URL: uri.MustParse("news:comp.lang.go"), Op: fetch.OpList})
	fmt.Println(x.Scheme.Name, err)
	// Output:
	// news <nil>
}

// A program that receives URLs from others omits the schemes for local resources.
func ExampleWithout() {
	c := fetch.New(nil, protocols.Without("file", "afs", "nfs", "mid", "cid"))
	defer c.Close()
	_, err := c.Get(context.Background(), "file:///etc/passwd")
	fmt.Println(err)
	// Output:
	// get file:///etc/passwd: no driver for scheme: "file" is not registered
}
