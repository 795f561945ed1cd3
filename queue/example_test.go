package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
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
