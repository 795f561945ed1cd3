package middleware_test

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/middleware"
)

// This client makes at most two concurrent transfers per host and receives at most 1 MiB per second in
// total.
func Example() {
	c := fetch.New(&fetch.Options{
		Middleware: []fetch.Middleware{middleware.PerHost(2), middleware.RateLimit(1 << 20)},
	}, fetch.Use("x-zeros", body(100))) // programs use protocols.All
	defer c.Close()
	data, err := c.ReadAll(context.Background(), "x-zeros://host/", 0)
	fmt.Println(len(data), err)
	// Output:
	// 100 <nil>
}
