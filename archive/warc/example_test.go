package warc_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/archive/warc"
)

// Write a resource to a file and read it again.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "poems.warc.gz")
	w, err := warc.Create(name, warc.WriterOptions{})
	if err != nil {
		log.Fatal(err)
	}
	block := w.NewSpool()
	defer block.Close()
	io.WriteString(block, "a poem about rain\n")
	if err := w.Write(&warc.Draft{Block: block, Header: warc.Header{
		{Name: "WARC-Type", Value: warc.Resource},
		{Name: "WARC-Target-URI", Value: "gopher://poems.example/0/rain"},
		{Name: "Content-Type", Value: "text/plain"},
	}}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	file, err := os.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	r, err := warc.NewReader(file)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		if rec.Type() == warc.Resource {
			text, err := io.ReadAll(rec.Block)
			fmt.Printf("%s %q %v\n", rec.TargetURI(), text, err)
		}
	}
	// Output:
	// gopher://poems.example/0/rain "a poem about rain\n" <nil>
}
