package servers_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/httpd"
)

// The client reads a file, and reads it again while the server cuts the connection.
func Example_httpd() {
	h := httpd.New(fstest.MapFS{"pub/readme.txt": {Data: []byte("Read me.\n")}})
	s := httptest.NewServer(h)
	defer s.Close()
	defer h.Close()
	for _, f := range []servers.Fault{0, servers.Cut} {
		if f != 0 {
			h.Fail(f)
		}
		resp, err := http.Get(s.URL + "/pub/readme.txt")
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(resp.Status, len(text) == 9, err)
	}
	fmt.Println(h.Log())
	// Output:
	// 200 OK true <nil>
	// 200 OK false unexpected EOF
	// [GET /pub/readme.txt GET /pub/readme.txt]
}
