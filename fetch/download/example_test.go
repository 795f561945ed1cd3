package download_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

func ExampleDownloader_Get() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()

	// A program would name protocols.All here.
	client := fetch.New(nil, fetch.Use("x-hello", fetch.DriverFunc(
		func(context.Context, *fetch.Request) (*fetch.Response, error) {
			return &fetch.Response{
				Meta: fetch.Meta{ContentType: "text/plain", Size: 6},
				Body: io.NopCloser(strings.NewReader("hello\n")),
			}, nil
		})))
	defer client.Close()

	d := &download.Downloader{Client: client, Root: root}
	for range 2 {
		r, err := d.Get(context.Background(), "x-hello://example/", "", &download.Options{SHA256: true})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Name, r.Size, r.SHA256[:8])
	}
	// Output:
	// index.txt 6 5891b5b5
	// index.txt.1 6 5891b5b5
}
