package jetstream_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
	"github.com/urlget/urlget/queue/jetstream/embedded"
)

// Submit a job twice to a queue on a server in this process. The queue contains it once.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := embedded.Start(dir, true)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	e, err := jetstream.Open(ctx, jetstream.Options{InProcess: s, URL: s.URL()})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	for range 2 {
		_, duplicate, err := queue.Submit(ctx, e, queue.Normal, &job.Job{URL: uri.MustParse("ftp://ftp.example/pub/a.iso")})
		fmt.Println(duplicate, err)
	}
	status, err := e.Status(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status.Waiting[queue.Normal])
	// Output:
	// false <nil>
	// true <nil>
	// 1
}
