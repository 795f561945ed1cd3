package faultproxy_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/urlget/urlget/fetchtest/faultproxy"
)

// The first connection of the client ends after 1,000 bytes. The second one is not disturbed.
func Example() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Repeat("x", 2000))
	}))
	defer s.Close()
	p := &faultproxy.Proxy{Limit: 1, Pick: func() faultproxy.Fault {
		return faultproxy.Fault{Kind: faultproxy.Cut, After: 1000}
	}}
	defer p.Close()
	client := http.Client{Transport: &http.Transport{DialContext: p.DialContext, DisableKeepAlives: true}}
	for range 2 {
		resp, err := client.Get(s.URL)
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(len(text) == 2000, err)
	}
	fmt.Println(p.Struck())
	// Output:
	// false unexpected EOF
	// true <nil>
	// 1
}
