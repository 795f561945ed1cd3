// Customscheme adds a scheme to the built-in ones: notes on a server, over a line protocol made for
// this example. The driver is in note.go, and its tests are in note_test.go.
//
//	go run ./examples/customscheme x-note://notes.example/shopping/today
//
// The client's policy, limits, timeouts, proxies, records and error classes apply to this scheme
// too.
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
		log.Fatal("usage: customscheme URL")
	}
	if err := get(context.Background(), os.Stdout, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func get(ctx context.Context, w io.Writer, rawURL string) error {
	c := fetch.New(nil, protocols.All, Load)
	defer c.Close()
	resp, err := c.Get(ctx, rawURL)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	return err
}
