package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/nex"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/queuetest"
)

// Submit a job, run a worker, and read the content from the store. Programs use an engine such as
// that of queue/jetstream; this example uses an in-memory model.
func ExampleWorker() {
	s, err := nexd.New(nexd.Options{Replies: map[string]string{"rain.txt": "a poem about rain\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := queue.OpenDir(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	client := fetch.New(&fetch.Options{Policy: &fetch.Policy{Untrusted: true, AllowPrivate: true}}, nex.Load)
	defer client.Close()
	engine := queuetest.NewModel(queuetest.Options{}).Connect("worker")
	defer engine.Close()

	ctx, stop := context.WithCancel(context.Background())
	if _, _, err := queue.Submit(ctx, engine, queue.Normal, &job.Job{URL: uri.MustParse(s.URL + "/rain.txt")}); err != nil {
		log.Fatal(err)
	}
	w := &queue.Worker{Engine: engine, Store: store, Name: "one",
		Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}}
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	for result, err := range engine.Results(ctx, 0, true) {
		if err != nil {
			log.Fatal(err)
		}
		var e queue.Event
		if err := json.Unmarshal(result.Data, &e); err != nil {
			log.Fatal(err)
		}
		content, err := store.Get(ctx, e.SHA256)
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(content)
		content.Close()
		fmt.Printf("%s %q %v\n", e.Name, text, err)
		break
	}
	stop()
	fmt.Println(<-ended)
	// Output:
	// saved "a poem about rain\n" <nil>
	// <nil>
}

// Run the functions of the guide.
func Example_work() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	s, err := ftpd.New(ftpd.Options{Tree: fstest.MapFS{"motd": {Data: []byte("welcome\n")}}})
	check(err)
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	c := fetch.New(nil, ftp.Load)
	defer c.Close()
	engine := queuetest.NewModel(queuetest.Options{}).Connect("worker") // stands for jetstream.Open
	defer engine.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	check(submit(ctx, engine, uri.MustParse(s.URL+"/motd"), uri.MustParse(s.URL+"/none")))
	ended := make(chan error)
	go func() { ended <- work(ctx, c, engine, dir) }()
	n := 0
	for result, err := range engine.Results(ctx, 0, true) {
		check(err)
		var e queue.Event
		check(json.Unmarshal(result.Data, &e))
		fmt.Println(strings.TrimPrefix(e.URL, s.URL), e.Name)
		if n++; n == 2 {
			break
		}
	}
	stop()
	fmt.Println(<-ended)
	// Unordered output:
	// /motd saved
	// /none failed
	// <nil>
}
