package memento_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/urlget/urlget/archive/memento"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

// The client retrieves each page as it was on the first of May 1997.
func ExampleMiddleware() {
	archive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // stands for a web archive
		w.Header().Set("Memento-Datetime", "Sat, 03 May 1997 00:00:00 GMT")
		fmt.Fprint(w, "It was ", r.Header.Get("Accept-Datetime"))
	}))
	defer archive.Close()

	asker := fetch.New(nil, httpdriver.Load)
	defer asker.Close()
	date := time.Date(1997, 5, 1, 0, 0, 0, 0, time.UTC)
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{memento.Middleware(memento.Options{
		Client:    asker,
		TimeGates: []string{archive.URL + "/timegate/"},
		At:        func(context.Context) time.Time { return date },
	})}}, httpdriver.Load)
	defer c.Close()

	meta, err := c.Stat(context.Background(), &fetch.Request{URL: uri.MustParse("http://www.example/")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(meta.Capture.Distance())
	// Output: 48h0m0s
}
