package ipfs_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/ipfs"
)

// The gateway is not trusted. Another driver replaces http here, and sends other content.
func Example() {
	web := fetch.Use("http", fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		text := "hello\n"
		if strings.Contains(req.URL.Path(), "bafkreih") {
			text = "other content\n"
		}
		return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: io.NopCloser(strings.NewReader(text))}, nil
	}))
	c := fetch.New(nil, ipfs.With(ipfs.Options{Gateway: "http://127.0.0.1:8080"}), web)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am", 1000)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", text)
	_, err = c.ReadAll(context.Background(), "ipfs://bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku", 1000)
	fmt.Println(fetch.CodeOf(err))
	// Output:
	// hello
	// protocol violation
}
