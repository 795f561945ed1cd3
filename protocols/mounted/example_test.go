package mounted_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/file"
	"github.com/urlget/urlget/protocols/mounted"
)

// An AFS cell that is mounted in another directory. The file driver reads it.
func ExampleWith() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(filepath.Join(dir, "cell.example"), 0o700); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cell.example", "motd"), []byte("welcome"), 0o600); err != nil {
		log.Fatal(err)
	}
	c := fetch.New(nil, mounted.With(mounted.Options{AFS: dir}), file.Load)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "afs://cell.example/motd", 0)
	fmt.Printf("%s %v\n", text, err)
	// Output:
	// welcome <nil>
}
