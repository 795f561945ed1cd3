// Package otel sends spans of the jobs of a queue's worker to a collector of OpenTelemetry, by OTLP
// over HTTP. It links the SDK of OpenTelemetry.
//
// The standard variables say where to and how: OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, and all others that the SDK knows for spans, OTLP and
// resources.
package otel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/middleware/otel"
	"github.com/urlget/urlget/queue"
)

// Name is the name of the instrumentation scope.
const Name = "github.com/urlget/urlget/fetch/queue/otel"

// The attributes for which there are no semantic conventions.
const (
	IDKey       = attribute.Key("urlget.job.id")   // of the submission
	AttemptKey  = attribute.Key("urlget.attempt")  // 1 for the first one
	WorkerKey   = attribute.Key("urlget.worker")   // the name of the worker
	OutcomeKey  = attribute.Key("urlget.outcome")  // a job.Outcome
	ClassKey    = attribute.Key("urlget.class")    // the fetch.Code of a failure
	ReceivedKey = attribute.Key("urlget.received") // bytes of content
)

// lost is the class of an attempt whose result could not be kept or delivered.
const lost = "queue"

// maxValue bounds the characters of an attribute, such as a URL, if OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT
// or OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT does not.
const maxValue = 4 << 10

// A Tracer makes spans and sends them, beside the jobs: these never wait for it. When as many wait to
// be sent as OTEL_BSP_MAX_QUEUE_SIZE says, or the SDK's DefaultMaxQueueSize, more are lost.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	kill     context.CancelFunc // ends what is being sent
}

// Open returns a Tracer as the environment says, or nil if it wants no spans: it names no endpoint,
// or has OTEL_SDK_DISABLED=true or an OTEL_TRACES_EXPORTER other than otlp. Service is the name of
// the service unless the environment has another. An error is a mistake in the environment. That
// spans cannot be sent is told to logger, once a minute at most; OpenTelemetry's error handler, of
// which a program has one, is set to that.
func Open(ctx context.Context, service string, logger *slog.Logger) (*Tracer, error) {
	if wanted, err := configured(); !wanted {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName(service)), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	client, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	troubles := &troubles{logger: logger}
	api.SetErrorHandler(api.ErrorHandlerFunc(func(err error) { troubles.tell(0, err) }))
	limits := sdk.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxValue
	}
	live, kill := context.WithCancel(context.WithoutCancel(ctx))
	provider := sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithRawSpanLimits(limits),
		sdk.WithBatcher(&exporter{SpanExporter: client, live: live, troubles: troubles}))
	return &Tracer{provider: provider, tracer: provider.Tracer(Name, trace.WithSchemaURL(semconv.SchemaURL)), kill: kill}, nil
}

// configured reports whether the environment asks for spans.
func configured() (bool, error) {
	name, endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	exporter := os.Getenv("OTEL_TRACES_EXPORTER")
	if endpoint == "" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || exporter != "" && exporter != "otlp" {
		return false, nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false, fmt.Errorf("$%s: want a URL of http or https", name)
	}
	if name, protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("$%s: only http/protobuf is spoken", name)
	}
	return true, nil
}

// first returns the first variable that is set and not empty.
func first(names ...string) (name, value string) {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return name, v
		}
	}
	return "", ""
}

// Attempt is for the Trace of a queue.Worker: each attempt at a job is a span, "job" and the scheme,
// with the attributes url.full without userinfo and signatures, url.scheme, server.address and those
// above. One that fails has the status Error with the class of its failure, in error.type too, and
// nothing that a server said.
func (t *Tracer) Attempt(ctx context.Context, a *queue.Attempt) (context.Context, func(*job.Result, error)) {
	u := a.Job.URL
	attrs := []attribute.KeyValue{semconv.URLFull(otel.URL(u)), semconv.URLScheme(u.Scheme()), IDKey.String(a.ID),
		AttemptKey.Int(a.Number), WorkerKey.String(a.Worker)}
	if host := u.Host(); host != "" {
		attrs = append(attrs, semconv.ServerAddress(host))
	}
	ctx, span := t.tracer.Start(ctx, "job "+u.Scheme(), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attrs...))
	return ctx, func(res *job.Result, err error) { end(span, u.Scheme(), res, err) }
}

// end ends the span of an attempt.
func end(span trace.Span, scheme string, res *job.Result, err error) {
	defer span.End()
	class := ""
	if res != nil {
		span.SetAttributes(OutcomeKey.String(string(res.Outcome)), ReceivedKey.Int64(res.Received))
		if res.Status != 0 {
			span.SetAttributes(otel.StatusCode(scheme, res.Status))
		}
		if class = string(res.Class); class == "" && res.Outcome == job.Failed {
			class = "_OTHER" // as error.type has it
		}
	}
	if err != nil {
		class = lost
	}
	if class != "" {
		span.SetAttributes(ClassKey.String(class), semconv.ErrorTypeKey.String(class))
		span.SetStatus(codes.Error, class)
	}
}

// Recorder returns a fetch.Recorder for the client of the worker: each exchange is a span below that
// of its attempt, as fetch/middleware/otel has it.
func (t *Tracer) Recorder() fetch.Recorder {
	return otel.Recorder(&otel.Options{TracerProvider: t.provider, MeterProvider: noop.NewMeterProvider(), ClassOnly: true})
}

// Close sends what is left, until ctx ends, and ends the Tracer.
func (t *Tracer) Close(ctx context.Context) {
	defer t.kill()
	// Once nothing can be sent any more, what is left goes at once.
	defer context.AfterFunc(ctx, t.kill)()
	t.provider.Shutdown(context.WithoutCancel(ctx)) // what went wrong was told
}

// An exporter sends spans while it lives.
type exporter struct {
	sdk.SpanExporter
	live     context.Context
	troubles *troubles
}

// ExportSpans sends spans. Errors go no further, as they were told.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.live, cancel)()
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.troubles.tell(len(spans), err)
	}
	return nil
}

const (
	tellEvery = time.Minute // how often troubles are told
	maxTold   = 300         // bytes of one
)

// Troubles are told once in a while.
type troubles struct {
	logger *slog.Logger
	mu     sync.Mutex
	last   time.Time
	lost   int // spans since last
}

func (t *troubles) tell(lost int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost += lost
	if !t.last.IsZero() && time.Since(t.last) < tellEvery {
		return
	}
	for e := (*url.Error)(nil); errors.As(err, &e); { // its URL may be a secret
		err = e.Err
	}
	text := fetch.Printable(err.Error())
	t.logger.Warn("spans could not be sent", "lost", t.lost, "error", text[:min(len(text), maxTold)])
	t.last, t.lost = time.Now(), 0
}
