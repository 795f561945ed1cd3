package ni_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/ni"
)

// Content with another digest is an error, whatever the server. Another driver replaces https here.
func Example() {
	web := fetch.Use("https", fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		fmt.Println(req.URL.Path()[:24])
		return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: io.NopCloser(strings.NewReader("Hello World!"))}, nil
	}))
	c := fetch.New(nil, ni.Load, web)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "ni://example.com/sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk", 1000)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", text)
	// Output:
	// /.well-known/ni/sha-256/
	// Hello World!
}
