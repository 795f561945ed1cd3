package hsts_test

import (
	"fmt"

	"github.com/urlget/urlget/protocols/http/hsts"
)

func Example() {
	store := &hsts.Store{} // of http.Options, which calls Observe
	store.Observe("example.com", []string{"max-age=31536000; includeSubDomains"})
	fmt.Println(store.Has("www.example.com"), store.Has("example.org"))
	// Output: true false
}
