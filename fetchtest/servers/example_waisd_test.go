package servers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/protocols/wais"
)

// waisGet is the client under test.
func waisGet(c *fetch.Client, url string) (int, error) {
	resp, err := c.Get(context.Background(), url)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	return int(n), err
}

// A test calls Start(t, options) instead of New and Close.
func Example_waisd() {
	s, err := waisd.New(waisd.Options{Tree: fstest.MapFS{
		"fruit/pear.txt": {Data: []byte("A pear is a fruit.\n")},
		"fruit/plum.txt": {Data: []byte(strings.Repeat("A plum is a fruit, too.\n", 1000))},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, wais.Load)
	defer c.Close()
	for e, err := range c.List(context.Background(), s.URL+"/fruit?plum") {
		fmt.Println(e.Name, e.Size, err)
	}
	fmt.Println(waisGet(c, s.Document("fruit", "plum.txt")))

	s.Fail(servers.Cut)
	_, err = waisGet(c, s.Document("fruit", "plum.txt"))
	fmt.Println("truncated:", errors.Is(err, fetch.ErrTruncated))
	// Output:
	// plum.txt   /fruit 24000 <nil>
	// 24000 <nil>
	// truncated: true
}
