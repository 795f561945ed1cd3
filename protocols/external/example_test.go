package external_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/external"
)

// A custom scheme implemented by a shell script. "urlget-x-upper" on PATH would be found without an
// option.
func ExampleWith() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "upper")
	script := "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'; printf %s \"$2\" | cut -d: -f2 | tr a-z A-Z\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		log.Fatal(err)
	}
	c := fetch.New(nil, external.With(external.Options{Programs: map[string]string{"x-upper": program}}))
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "x-upper:hello", 0)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// HELLO
	// <nil>
}
