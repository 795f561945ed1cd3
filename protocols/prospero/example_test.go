package prospero_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/prosperod"
	"github.com/urlget/urlget/protocols/prospero"
)

func ExampleWith() {
	s, err := prosperod.New(prosperod.Options{Tree: fstest.MapFS{"pub/pear.txt": {Data: make([]byte, 100_000)}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, most := range []int64{0, 1000} {
		c := fetch.New(nil, prospero.With(prospero.Options{MaxReply: most}))
		data, err := c.ReadAll(context.Background(), s.URL+"//pub/pear.txt", 0)
		fmt.Println(len(data), errors.Is(err, fetch.ErrTooLarge))
		c.Close()
	}
	// Output:
	// 100000 false
	// 0 true
}
