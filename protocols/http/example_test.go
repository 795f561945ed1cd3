package http_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/textproto"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	opener "github.com/urlget/urlget/protocols/http"
)

// Compressed content is decoded.
func ExampleWith() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		io.WriteString(z, "hello, "+r.Header.Get("X-Name"))
	}))
	defer s.Close()
	c := fetch.New(nil, opener.With(opener.Options{Compressed: true}))
	defer c.Close()
	resp, err := c.Do(context.Background(), &fetch.Request{
		URL:    uri.MustParse(s.URL),
		Header: textproto.MIMEHeader{"X-Name": {"world"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	fmt.Printf("%s %v\n", text, err)
	// Output:
	// hello, world <nil>
}
