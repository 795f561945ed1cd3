package otel_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/otel"
)

// The environment names a collector, which is a server in this process. A queue.Worker uses the
// methods Attempt and Recorder; this example reports one attempt itself.
func Example() {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}))
	defer collector.Close()
	os.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	defer os.Unsetenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	ctx := context.Background()
	tracer, err := otel.Open(ctx, "poems", slog.Default())
	if err != nil {
		log.Fatal(err)
	}
	j := &job.Job{URL: uri.MustParse("ftp://ftp.example/pub/a.iso")}
	_, ended := tracer.Attempt(ctx, &queue.Attempt{ID: "1", Job: j, Worker: "one", Number: 1})
	ended(&job.Result{URL: j.URL.Redacted(), Outcome: download.Saved}, nil)
	tracer.Close(ctx)
	// Output:
	// POST /v1/traces application/x-protobuf
}
