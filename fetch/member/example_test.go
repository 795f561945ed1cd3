package member_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	nethttp "net/http"
	"net/http/httptest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/member"
	"github.com/urlget/urlget/protocols/http"
)

// A client with this Fallback lists archives and retrieves their members.
func Example() {
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	w, _ := z.Create("docs/a.txt")
	io.WriteString(w, "Hello, world.")
	z.Close()
	s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path != "/x.zip" {
			nethttp.NotFound(w, r)
			return
		}
		nethttp.ServeContent(w, r, "x.zip", time.Unix(1e9, 0), bytes.NewReader(archive.Bytes()))
	}))
	defer s.Close()

	c := fetch.New(&fetch.Options{Fallback: member.Options{}.Fallback}, http.Load)
	defer c.Close()
	for e, err := range c.List(context.Background(), s.URL+"/x.zip") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Name, e.Size)
	}
	text, err := c.ReadAll(context.Background(), s.URL+"/x.zip!/docs/a.txt", 1<<20)
	fmt.Printf("%s %v\n", text, err)
	// Output:
	// docs/a.txt 13
	// Hello, world. <nil>
}
