package otel_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	pb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/otel"
	"github.com/urlget/urlget/queue/queuetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A receiver is a collector that stores the received spans.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	service string
	spans   []*pb.Span
	raw     []byte
}

// receive returns a receiver and sets the environment to its URL. The receiver responds once hold
// is closed.
func receive(t *testing.T, respond <-chan struct{}) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		if err != nil || req.URL.Path != "/v1/traces" || req.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s: %v", req.Method, req.URL, err)
		}
		<-respond
		r.mu.Lock()
		defer r.mu.Unlock()
		r.raw = append(r.raw, body...)
		for _, resource := range sent.ResourceSpans {
			r.service = text(resource.Resource.Attributes)
			for _, scope := range resource.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	return r
}

// named returns the spans with a name.
func (r *receiver) named(name string) (list []*pb.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.Name == name {
			list = append(list, s)
		}
	}
	return list
}

// text returns the attributes, sorted by name.
func text(attrs []*common.KeyValue) string {
	var list []string
	for _, kv := range attrs {
		value := kv.Value.GetStringValue()
		if value == "" {
			value = fmt.Sprint(kv.Value.GetIntValue())
		}
		list = append(list, kv.Key+"="+value)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// closed is a closed channel.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// open returns a Tracer and its log.
func open(t *testing.T) (*otel.Tracer, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	tracer, err := otel.Open(t.Context(), "urlget-queue", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil || tracer == nil {
		t.Fatal(tracer, err)
	}
	return tracer, &log
}

// runJobs runs a worker with the tracer until the jobs have ended.
func runJobs(t *testing.T, tracer *otel.Tracer, urls ...string) (ids []string) {
	t.Helper()
	m := queuetest.NewModel(queuetest.Options{})
	e := m.Connect("a")
	for _, u := range urls {
		id, _, err := queue.Submit(t.Context(), e, queue.Normal, &job.Job{URL: uri.MustParse(u)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	store, err := queue.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	client := fetch.New(&fetch.Options{Recorder: tracer.Recorder()}, urlhttp.Load)
	defer client.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w := &queue.Worker{Engine: e, Runner: &job.Runner{Downloader: &download.Downloader{Client: client}}, Store: store,
		Name: "w/1", Trace: tracer.Attempt}
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	n := 0
	for range m.Connect("b").Results(t.Context(), 0, true) {
		if n++; n == len(urls) {
			break
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	return ids
}

// site returns a web server. Its error responses contain a secret.
func site(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/old":
			http.Redirect(w, r, "/new", http.StatusFound)
		case "/new":
			io.WriteString(w, "content")
		default:
			http.Error(w, "no s3cr3t", http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestJobSpan(t *testing.T) {
	r := receive(t, closed)
	s := site(t)
	tracer, log := open(t)
	id := runJobs(t, tracer, s.URL+"/old")[0]
	tracer.Close(t.Context())
	jobs, gets := r.named("job http"), r.named("get http")
	if len(jobs) != 1 || len(gets) != 2 || len(r.spans) != 3 {
		t.Fatalf("%d spans: %v", len(r.spans), r.spans)
	}
	want := "http.response.status_code=200 server.address=127.0.0.1 url.full=" + s.URL + "/old url.scheme=http urlget.attempt=1 urlget.job.id=" +
		id + " urlget.outcome=saved urlget.received=7 urlget.worker=w/1"
	if got := text(jobs[0].Attributes); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if jobs[0].Status.GetCode() != pb.Status_STATUS_CODE_UNSET || len(jobs[0].ParentSpanId) > 0 || jobs[0].Kind != pb.Span_SPAN_KIND_CONSUMER {
		t.Error(jobs[0])
	}
	for _, get := range gets {
		if !bytes.Equal(get.ParentSpanId, jobs[0].SpanId) {
			t.Error("the parent of an exchange is not its job")
		}
	}
	if !strings.Contains(r.service, "service.name=urlget-queue") || log.Len() > 0 {
		t.Errorf("%s\n%s", r.service, log)
	}
}

func TestFailedJobSpan(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "mine")
	r := receive(t, closed)
	s := site(t)
	tracer, _ := open(t)
	runJobs(t, tracer, strings.Replace(s.URL, "//", "//joe:s3cr3t@", 1)+"/none?a=1&sig=s3cr3t")
	tracer.Close(t.Context())
	jobs := r.named("job http")
	if len(jobs) != 1 {
		t.Fatal(r.spans)
	}
	got := text(jobs[0].Attributes)
	for _, want := range []string{"error.type=not_found", "urlget.class=not_found", "urlget.outcome=failed",
		"http.response.status_code=404", "url.full=" + s.URL + "/none?a=1&sig=REDACTED "} {
		if !strings.Contains(got, want) {
			t.Errorf("attributes %s lack %s", got, want)
		}
	}
	if st := jobs[0].Status; st.GetCode() != pb.Status_STATUS_CODE_ERROR || st.GetMessage() != "not_found" {
		t.Error(st)
	}
	if bytes.Contains(r.raw, []byte("s3cr3t")) || bytes.Contains(r.raw, []byte("joe")) {
		t.Errorf("a secret was sent: %q", r.raw)
	}
	if !strings.Contains(r.service, "service.name=mine") {
		t.Error(r.service)
	}
}

// If the collector is unreachable or does not respond, the worker still runs its jobs, and Close
// returns in time.
func TestNoCollector(t *testing.T) {
	respond := make(chan struct{})
	hanging := receive(t, respond)
	defer close(respond)
	for name, endpoint := range map[string]string{"refused": "http://u:s3cr3t@127.0.0.1:1", "hung": hanging.URL} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
			t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3600000") // in milliseconds
			s := site(t)
			tracer, log := open(t)
			runJobs(t, tracer, s.URL+"/new", s.URL+"/new?2", s.URL+"/new?3")
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			start := time.Now()
			tracer.Close(ctx)
			if elapsed := time.Since(start); elapsed > 5*time.Minute {
				t.Errorf("Close took %v", elapsed)
			}
			if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "cannot send spans") || strings.Contains(log.String(), "s3cr3t") {
				t.Errorf("%d log lines:\n%s", n, log)
			}
		})
	}
}

// Spans that cannot be sent are dropped and do not fill the memory.
func TestMaxQueuedSpans(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "20")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5")
	respond := make(chan struct{})
	r := receive(t, respond)
	tracer, _ := open(t)
	a := &queue.Attempt{Job: &job.Job{URL: uri.MustParse("x:" + strings.Repeat("long", 10_000))}}
	for range 1000 {
		_, ended := tracer.Attempt(t.Context(), a)
		ended(nil, io.ErrUnexpectedEOF)
	}
	close(respond)
	tracer.Close(t.Context())
	if n := len(r.spans); n < 20 || n > 30 {
		t.Errorf("%d spans sent, want 20 to 30", n)
	}
	for _, s := range r.spans {
		if got := text(s.Attributes); s.Status.GetMessage() != "queue" || len(got) > 5000 {
			t.Fatalf("%d bytes of attributes, %v", len(got), s.Status)
		}
	}
}

func TestEnvironment(t *testing.T) {
	const endpoint, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for _, tt := range []struct {
		env     map[string]string
		enabled bool
		fail    string
	}{
		{env: nil},
		{env: map[string]string{endpoint: ""}},
		{env: map[string]string{endpoint: "http://h.example:4318"}, enabled: true},
		{env: map[string]string{traces: "https://h.example/v1/traces"}, enabled: true},
		{env: map[string]string{endpoint: "http://h.example", "OTEL_SDK_DISABLED": "True"}},
		{env: map[string]string{endpoint: "http://h.example", "OTEL_TRACES_EXPORTER": "none"}},
		{env: map[string]string{endpoint: "http://h.example", "OTEL_TRACES_EXPORTER": "otlp"}, enabled: true},
		{env: map[string]string{endpoint: "h.example:4317"}, fail: "$OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL"},
		{env: map[string]string{traces: "http:///x"}, fail: "$OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an http or https URL"},
		{env: map[string]string{endpoint: "http://h.example", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, fail: "$OTEL_EXPORTER_OTLP_PROTOCOL: only http/protobuf is supported"},
	} {
		t.Run(fmt.Sprint(tt.env), func(t *testing.T) {
			for _, name := range []string{endpoint, traces} {
				t.Setenv(name, tt.env[name])
			}
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			tracer, err := otel.Open(t.Context(), "s", slog.New(slog.DiscardHandler))
			if tracer != nil {
				tracer.Close(t.Context())
			}
			if (tracer != nil) != tt.enabled || fmt.Sprint(err) != tt.fail && (err != nil || tt.fail != "") {
				t.Errorf("%v, %v", tracer, err)
			}
		})
	}
}
