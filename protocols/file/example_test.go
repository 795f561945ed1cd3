package file_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/file"
)

// With a root, a URL cannot name a file outside it.
func ExampleWith() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()
	if err := root.WriteFile("motd", []byte("welcome"), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := root.Symlink("/etc/hostname", "out"); err != nil {
		log.Fatal(err)
	}
	c := fetch.New(nil, file.With(file.Options{Root: root}))
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "file:///motd", 0)
	fmt.Printf("%s %v\n", text, err)
	_, err = c.ReadAll(context.Background(), "file:///out", 0)
	fmt.Println(errors.Is(err, fetch.ErrRefused))
	// Output:
	// welcome <nil>
	// true
}
