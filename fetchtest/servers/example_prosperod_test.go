package servers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/prosperod"
	"github.com/urlget/urlget/protocols/prospero"
)

// prosperoGet stands for the client under test.
func prosperoGet(c *fetch.Client, url string) (string, error) {
	resp, err := c.Get(context.Background(), url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	return string(content), err
}

// A test calls Start(t, options) instead of New and Close.
func Example_prosperod() {
	s, err := prosperod.New(prosperod.Options{Tree: fstest.MapFS{"pub/pear.txt": {Data: []byte("A pear is a fruit.")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	c := fetch.New(nil, prospero.Load)
	defer c.Close()
	for e, err := range c.List(context.Background(), s.URL+"//pub") {
		fmt.Println(e.Name, e.Size, err)
	}
	fmt.Println(prosperoGet(c, s.URL+"//pub/pear.txt"))

	s.Fail(servers.Noise)
	_, err = prosperoGet(c, s.URL+"//pub/pear.txt")
	fmt.Println("no message:", errors.Is(err, fetch.ErrProtocol))
	// Output:
	// pear.txt 18 <nil>
	// A pear is a fruit. <nil>
	// no message: true
}
