package middleware_test

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/middleware"
)

// Two transfers with one host at once, and a mebibyte a second for all of them together.
func Example() {
	c := fetch.New(&fetch.Options{
		Middleware: []driver.Middleware{middleware.PerHost(2), middleware.RateLimit(1 << 20)},
	}, driver.Use("x-zeros", body(100))) // a program would name protocols.All here
	defer c.Close()
	data, err := c.ReadAll(context.Background(), "x-zeros://host/", 0)
	fmt.Println(len(data), err)
	// Output:
	// 100 <nil>
}
