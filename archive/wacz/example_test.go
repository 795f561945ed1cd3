package wacz_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/urlget/urlget/archive/wacz"
	"github.com/urlget/urlget/archive/warc"
)

// Write a WARC file into a WACZ file and read its index.
func Example() {
	records := strings.Join([]string{
		"WARC/1.1",
		"WARC-Type: resource",
		"WARC-Record-ID: <urn:uuid:6f1d5b0e-54c5-4a43-a2f6-1c2b8a0e7d11>",
		"WARC-Date: 2026-01-02T03:04:05Z",
		"WARC-Target-URI: gopher://poems.example/0/rain",
		"Content-Type: text/plain",
		"Content-Length: 4",
		"", "wet\n", "", "",
	}, "\r\n")
	var packed bytes.Buffer
	source := wacz.File{Name: "poems.warc", SectionReader: io.NewSectionReader(strings.NewReader(records), 0, int64(len(records)))}
	if err := wacz.Write(&packed, []wacz.File{source}, wacz.Options{Title: "Poems"}); err != nil {
		log.Fatal(err)
	}

	r, err := wacz.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Files() {
		fmt.Println(f.Name, f.Size())
	}
	if err := r.ReadIndex(func(e warc.IndexEntry) error {
		fmt.Println(e.URL, e.Mime, e.Offset)
		return nil
	}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// poems.warc 232
	// gopher://poems.example/0/rain text/plain 0
}
