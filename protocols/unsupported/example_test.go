package unsupported_test

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/unsupported"
)

func Example() {
	c := fetch.New(nil, unsupported.Load)
	defer c.Close()
	_, err := c.Get(context.Background(), "tel:+441234567")
	fmt.Println(err)
	// Output:
	// get tel:+441234567: not retrievable: tel is a telephone number (RFC 3966)
}
