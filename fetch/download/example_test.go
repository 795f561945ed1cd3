package download_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
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
	defer d.Flush()
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

// The writer gets each byte once, although the connection fails during the transfer.
func ExampleDownloader_Copy() {
	const content = "All that is gold does not glitter\n"
	tries := 0
	poem := fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		tries++
		rest := content[req.Range.Offset:]
		resp := &fetch.Response{Meta: fetch.Meta{Size: int64(len(rest)), Validator: fetch.Validator{ETag: `"1"`}}}
		var body io.Reader = strings.NewReader(rest)
		if tries == 1 {
			body = io.LimitReader(body, 16)
		} else {
			resp.Range = fetch.Range{Offset: req.Range.Offset, Length: resp.Size}
			resp.Total = int64(len(content))
		}
		resp.Body = io.NopCloser(body)
		return resp, nil
	})
	// A program would name protocols.All here.
	client := fetch.New(nil, fetch.Use("x-poem", poem))
	defer client.Close()

	d := &download.Downloader{Client: client}
	r, err := d.Copy(context.Background(), &fetch.Request{URL: uri.MustParse("x-poem://example/")}, os.Stdout, &download.Options{
		Retry: retry.Policy{
			Wait:   time.Millisecond,
			Report: func(_ int, _ time.Duration, err error) { fmt.Println("...") },
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Size, "bytes in", tries, "tries")
	// Output:
	// All that is gold...
	//  does not glitter
	// 34 bytes in 2 tries
}
