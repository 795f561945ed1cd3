package archive_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/archive"
	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/warc"
)

// Import a mailbox into an archive, where its messages have URLs.
func ExampleImporter() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	mbox := filepath.Join(dir, "poems.mbox")
	text := "From joe@poems.example Fri Jan  2 03:04:05 2026\nMessage-ID: <1@poems.example>\nFrom: joe@poems.example\nSubject: Rain\n\nwet\n"
	if err := os.WriteFile(mbox, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	kind, err := archive.KindOf(mbox)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(kind)

	w, err := warc.Create(filepath.Join(dir, "poems.warc.gz"), warc.WriterOptions{Index: true, Format: capture.Format})
	if err != nil {
		log.Fatal(err)
	}
	m := archive.New(w, nil, func(err error) { log.Print(err) })
	if err := m.Mailbox(context.Background(), mbox); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	index, err := os.Open(filepath.Join(dir, "poems.cdxj"))
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()
	if err := warc.ReadIndex(index, func(e warc.IndexEntry) error {
		if e.Digest != "" { // not the metadata of the message
			fmt.Println(e.URL, e.Mime)
		}
		return nil
	}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// mailbox
	// mid:1@poems.example message/rfc822
}
