package cache_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/archive/cache"
	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

// The second run of a program uses what the first one recorded.
func Example() {
	requests := 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Cache-Control", "max-age=3600")
		fmt.Fprint(w, "Hello")
	}))
	defer site.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	key := []byte("a random key that is stored with the archives")
	for run := range 2 {
		stored, _ := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
		archive, err := replay.Open(stored...)
		if err != nil {
			fmt.Println(err)
			return
		}
		w, err := warc.Create(filepath.Join(dir, fmt.Sprint(run)), warc.WriterOptions{Format: capture.Format})
		if err != nil {
			fmt.Println(err)
			return
		}
		recorder := capture.New(w, nil, nil)
		recorder.ForCache(key)
		c := fetch.New(&fetch.Options{Recorder: recorder,
			Middleware: []fetch.Middleware{cache.Middleware(cache.Options{Archive: archive, Key: key})}}, httpdriver.Load)
		text, err := c.ReadAll(context.Background(), site.URL, 1<<20)
		fmt.Printf("%s %v, requests: %d\n", text, err, requests)
		c.Close()
		w.Close()
		archive.Close()
	}
	// Output:
	// Hello <nil>, requests: 1
	// Hello <nil>, requests: 1
}
