package data_test

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/data"
)

func Example() {
	c := fetch.New(nil, data.Load)
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "data:;base64,aGVsbG8=", 0)
	fmt.Printf("%s %v\n", text, err)
	// Output:
	// hello <nil>
}
