// Get copies the content of a URL, whatever its scheme, to standard output:
//
//	go run ./examples/get data:,hello
//	go run ./examples/get gopher://gopher.floodgap.com/
package main

import (
	"context"
	"io"
	"log"
	"os"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: get URL")
	}
	if err := get(context.Background(), os.Stdout, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func get(ctx context.Context, w io.Writer, rawURL string) error {
	c := fetch.New(nil, protocols.All)
	defer c.Close()
	resp, err := c.Get(ctx, rawURL)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	return err
}
