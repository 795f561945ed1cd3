// Package otel sends spans of the jobs of a queue worker to an OpenTelemetry collector, with OTLP
// over HTTP. It links the OpenTelemetry SDK.
//
// The standard environment variables configure it: OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, and all others that the SDK supports for spans, OTLP and
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

// scope is the name of the instrumentation scope, a contract.
const scope = "github.com/urlget/urlget/fetch/queue/otel"

// Attributes without semantic conventions.
const (
	idKey       = attribute.Key("urlget.job.id")   // of the submission
	attemptKey  = attribute.Key("urlget.attempt")  // starts at 1
	workerKey   = attribute.Key("urlget.worker")   // the name of the worker
	outcomeKey  = attribute.Key("urlget.outcome")  // a job.Outcome
	classKey    = attribute.Key("urlget.class")    // the fetch.Code of a failure
	receivedKey = attribute.Key("urlget.received") // bytes of content
)

// lost is the class of an attempt whose result could not be stored or published.
const lost = "queue"

// maxValue limits the characters of an attribute, such as a URL, unless
// OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT or OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT is set.
const maxValue = 4 << 10

// A Tracer creates spans and sends them in the background, so that jobs do not wait. If more than
// OTEL_BSP_MAX_QUEUE_SIZE spans are waiting (by default the SDK's DefaultMaxQueueSize), further
// spans are lost.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	kill     context.CancelFunc // cancels running exports
}

// Open returns a Tracer configured by the environment. It returns nil if no endpoint is set,
// OTEL_SDK_DISABLED is true or OTEL_TRACES_EXPORTER is not otlp. Service is the default service
// name. An error is an invalid environment variable. Failed exports are logged at most once a
// minute. Open sets OpenTelemetry's global error handler to log them.
func Open(ctx context.Context, service string, logger *slog.Logger) (*Tracer, error) {
	if wanted, err := configured(); !wanted {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName(service)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	client, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	errorLog := &errorLog{logger: logger}
	api.SetErrorHandler(api.ErrorHandlerFunc(func(err error) { errorLog.log(0, err) }))
	limits := sdk.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxValue
	}
	live, kill := context.WithCancel(context.WithoutCancel(ctx))
	provider := sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithRawSpanLimits(limits),
		sdk.WithBatcher(&exporter{SpanExporter: client, live: live, errorLog: errorLog}))
	return &Tracer{provider: provider, tracer: provider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
		kill: kill}, nil
}

func configured() (bool, error) {
	name, endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	exporter := os.Getenv("OTEL_TRACES_EXPORTER")
	if endpoint == "" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") ||
		exporter != "" && exporter != "otlp" {
		return false, nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" ||
		u.Host == "" {
		return false, fmt.Errorf("$%s must be an http or https URL", name)
	}
	if name, protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
		"OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("$%s: only http/protobuf is supported", name)
	}
	return true, nil
}

func first(names ...string) (name, value string) {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return name, v
		}
	}
	return "", ""
}

// Attempt is a function for queue.Worker.Trace. Each attempt is a span named "job" and the scheme.
// It has the attributes url.full without userinfo and signatures, url.scheme, server.address and
// those above. A failed attempt has the status Error with the failure class, also in error.type,
// and no text from the server.
func (t *Tracer) Attempt(ctx context.Context, a *queue.Attempt) (context.Context, func(*job.Result, error)) {
	u := a.Job.URL
	attrs := []attribute.KeyValue{semconv.URLFull(otel.URL(u)), semconv.URLScheme(u.Scheme()),
		idKey.String(a.ID),
		attemptKey.Int(a.Number), workerKey.String(a.Worker)}
	if host := u.Host(); host != "" {
		attrs = append(attrs, semconv.ServerAddress(host))
	}
	ctx, span := t.tracer.Start(ctx, "job "+u.Scheme(), trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attrs...))
	return ctx, func(res *job.Result, err error) { end(span, u.Scheme(), res, err) }
}

func end(span trace.Span, scheme string, res *job.Result, err error) {
	defer span.End()
	class := ""
	if res != nil {
		span.SetAttributes(outcomeKey.String(string(res.Outcome)), receivedKey.Int64(res.Received))
		if res.Status != 0 {
			span.SetAttributes(otel.StatusCode(scheme, res.Status))
		}
		if class = string(res.Class); class == "" && res.Outcome == job.Failed {
			class = "_OTHER" // the fallback value of error.type
		}
	}
	if err != nil {
		class = lost
	}
	if class != "" {
		span.SetAttributes(classKey.String(class), semconv.ErrorTypeKey.String(class))
		span.SetStatus(codes.Error, class)
	}
}

// Recorder returns a fetch.Recorder for the client of the worker. Each exchange is a child span of
// its attempt, as in fetch/middleware/otel.
func (t *Tracer) Recorder() fetch.Recorder {
	return otel.Recorder(&otel.Options{TracerProvider: t.provider, MeterProvider: noop.NewMeterProvider(),
		ClassOnly: true})
}

// Close sends the remaining spans until ctx ends, and shuts the Tracer down.
func (t *Tracer) Close(ctx context.Context) {
	defer t.kill()
	// When ctx ends, kill cancels exports, so that Shutdown drops the remaining spans at once.
	defer context.AfterFunc(ctx, t.kill)()
	t.provider.Shutdown(context.WithoutCancel(ctx)) // errors have been logged
}

// An exporter sends spans until its context ends.
type exporter struct {
	sdk.SpanExporter
	live     context.Context
	errorLog *errorLog
}

// ExportSpans implements the exporter interface. Errors are logged and not returned.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.live, cancel)()
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.errorLog.log(len(spans), err)
	}
	return nil
}

const (
	logInterval = time.Minute // minimum interval between log messages
	maxLogged   = 300         // bytes of one log message
)

// An errorLog logs export errors at most once per logInterval.
type errorLog struct {
	logger *slog.Logger
	mu     sync.Mutex
	last   time.Time
	lost   int // lost spans since the last message
}

func (t *errorLog) log(lost int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost += lost
	if !t.last.IsZero() && time.Since(t.last) < logInterval {
		return
	}
	for e := (*url.Error)(nil); errors.As(err, &e); { // the URL may contain a secret
		err = e.Err
	}
	text := fetch.Printable(err.Error())
	t.logger.Warn("cannot send spans", "lost", t.lost, "error", text[:min(len(text), maxLogged)])
	t.last, t.lost = time.Now(), 0
}
