package s3_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/urlget/urlget/fetch"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/s3"
)

// An object of a store with the API of Amazon S3. Requests are signed if the environment or a profile has
// an access key; here it has none. The driver for http and https carries them.
func Example() {
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.URL.Path)
	}))
	defer store.Close()
	c := fetch.New(nil, urlhttp.Load, s3.With(s3.Options{Endpoint: store.URL,
		Getenv: func(string) string { return "" }}))
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "s3://bucket/dir/object", 1<<20)
	fmt.Printf("%q %v\n", text, err)
	// Output:
	// "/bucket/dir/object" <nil>
}
