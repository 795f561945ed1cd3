package gemini_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/protocols/gemini"
)

// The driver stores the first certificate of a server in a file.
func ExampleWith() {
	s, err := geminid.New(geminid.Options{Replies: map[string]string{"/": "20 text/gemini\r\n# Hello\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	known := filepath.Join(dir, "known")
	c := fetch.New(nil, gemini.With(gemini.Options{Certificates: known}))
	defer c.Close()
	text, err := c.ReadAll(context.Background(), s.URL+"/", 0)
	fmt.Printf("%q %v\n", text, err)
	list, err := os.ReadFile(known)
	fmt.Println(bytes.Count(list, []byte("\n")), err)
	// Output:
	// "# Hello\n" <nil>
	// 1 <nil>
}
