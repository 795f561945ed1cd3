package otel_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/middleware/otel"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A log is a provider of tracers and meters. It records a line for each ended span and each
// measurement.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

type tracers struct {
	tracenoop.TracerProvider
	log *log
}

func (t tracers) Tracer(name string, _ ...trace.TracerOption) trace.Tracer {
	t.log.note("tracer %s", name)
	return tracer{log: t.log}
}

type tracer struct {
	tracenoop.Tracer
	log *log
}

func (t tracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	cfg := trace.NewSpanStartConfig(opts...)
	s := &span{log: t.log, name: cfg.SpanKind().String() + " " + name, attrs: attribute.NewSet(cfg.Attributes()...)}
	if parent, ok := trace.SpanFromContext(ctx).(*span); ok {
		s.name += " below " + parent.name
	}
	return trace.ContextWithSpan(ctx, s), s
}

type span struct {
	tracenoop.Span
	log    *log
	name   string
	attrs  attribute.Set
	status string
}

func (s *span) SetAttributes(attrs ...attribute.KeyValue) {
	s.attrs = attribute.NewSet(append(s.attrs.ToSlice(), attrs...)...)
}

func (s *span) SetStatus(code codes.Code, text string) { s.status = fmt.Sprintf(" %v: %s", code, text) }

func (s *span) End(...trace.SpanEndOption) {
	s.log.note("span %s {%s}%s", s.name, text(s.attrs), s.status)
}

// text formats attributes, sorted by name, without those that differ between runs.
func text(set attribute.Set) string {
	var list []string
	for _, kv := range set.ToSlice() {
		switch kv.Key {
		case "network.peer.port", "server.port", "tls.cipher":
		default:
			list = append(list, string(kv.Key)+"="+kv.Value.String())
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

type meters struct {
	metricnoop.MeterProvider
	log *log
}

func (m meters) Meter(string, ...metric.MeterOption) metric.Meter { return meter{log: m.log} }

type meter struct {
	metricnoop.Meter
	log *log
}

func (m meter) Int64Counter(name string, opts ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counter{log: m.log, name: name + " in " + metric.NewInt64CounterConfig(opts...).Unit()}, nil
}

func (m meter) Float64Histogram(name string, opts ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return histogram{log: m.log, name: name + " in " + metric.NewFloat64HistogramConfig(opts...).Unit()}, nil
}

type counter struct {
	metricnoop.Int64Counter
	log  *log
	name string
}

func (c counter) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	c.log.note("%s +%d {%s}", c.name, n, text(metric.NewAddConfig(opts).Attributes()))
}

type histogram struct {
	metricnoop.Float64Histogram
	log  *log
	name string
}

func (h histogram) Record(_ context.Context, v float64, opts ...metric.RecordOption) {
	if v < 0 || v > 600 {
		h.log.note("%s: %v", h.name, v)
		return
	}
	h.log.note("%s {%s}", h.name, text(metric.NewRecordConfig(opts).Attributes()))
}

// recorder returns the Recorder under test and its log.
func recorder() (fetch.Recorder, *log) {
	l := &log{}
	return otel.Recorder(&otel.Options{TracerProvider: tracers{log: l}, MeterProvider: meters{log: l}}), l
}

func TestEachExchangeIsASpan(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/old":
			http.Redirect(w, r, "/new?a=1&sig=s3cr3t&X-Amz-Credential=s3cr3t#f", http.StatusFound)
		case "/new":
			io.WriteString(w, "content")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	record, l := recorder()
	c := fetch.New(&fetch.Options{Recorder: record, TLS: &tls.Config{RootCAs: roots}}, urlhttp.With(urlhttp.Options{Protocols: urlhttp.HTTP1}))
	defer c.Close()
	ctx, parent := tracer{log: l}.Start(t.Context(), "parent")
	base := strings.Replace(s.URL, "//", "//joe:s3cr3t@", 1)
	for _, path := range []string{"/old", "/none?sig=s3cr3t"} {
		resp, err := c.Get(ctx, base+path)
		if err != nil {
			continue
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	parent.End()
	shown := s.URL
	peer := "network.peer.address=127.0.0.1 network.transport=tcp server.address=127.0.0.1 tls.protocol.version=1.3 "
	want := []string{
		"tracer github.com/urlget/urlget/fetch/middleware/otel",
		"span client get https below unspecified parent {fetch.content.size=0 fetch.op=get http.response.status_code=302 " + peer + "url.full=" + shown + "/old url.scheme=https}",
		"fetch.client.exchanges in {exchange} +1 {url.scheme=https}",
		"fetch.client.content in By +0 {url.scheme=https}",
		"fetch.client.duration in s {url.scheme=https}",
		"span client get https below unspecified parent {fetch.content.size=7 fetch.op=get http.response.status_code=200 " + peer + "url.full=" + shown + "/new?a=1&sig=REDACTED&X-Amz-Credential=REDACTED#f url.scheme=https}",
		"fetch.client.exchanges in {exchange} +1 {url.scheme=https}",
		"fetch.client.content in By +7 {url.scheme=https}",
		"fetch.client.duration in s {url.scheme=https}",
		"span client get https below unspecified parent {error.type=not_found fetch.content.size=0 fetch.op=get http.response.status_code=404 " + peer + "url.full=" + shown + "/none?sig=REDACTED url.scheme=https} Error: not found (404 Not Found)",
		"fetch.client.exchanges in {exchange} +1 {error.type=not_found url.scheme=https}",
		"fetch.client.content in By +0 {error.type=not_found url.scheme=https}",
		"fetch.client.duration in s {error.type=not_found url.scheme=https}",
		"span unspecified parent {}",
	}
	if got := l.String(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// A span fails only if the exchange does.
func TestSpanStatus(t *testing.T) {
	t.Parallel()
	d := fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		switch req.URL.Path() {
		case "same":
			return nil, &fetch.Error{Code: fetch.ErrNotModified, Reply: fetch.Reply{Code: 213}}
		case "odd":
			return nil, errors.New("something odd")
		}
		return &fetch.Response{Meta: fetch.Meta{Size: 3}, Body: io.NopCloser(strings.NewReader("abc"))}, nil
	})
	for path, want := range map[string]string{
		"left": "span client get x {fetch.closed=true fetch.content.size=1 fetch.op=get url.full=x:left url.scheme=x}",
		"same": "span client get x {fetch.content.size=0 fetch.op=get fetch.reply.code=213 url.full=x:same url.scheme=x}",
		"odd":  "span client get x {error.type=_OTHER fetch.content.size=0 fetch.op=get url.full=x:odd url.scheme=x} Error: something odd",
	} {
		record, l := recorder()
		c := fetch.New(&fetch.Options{Recorder: record}, fetch.Use("x", d))
		if resp, err := c.Get(t.Context(), "x:"+path); err == nil {
			resp.Body.Read(make([]byte, 1))
			resp.Body.Close()
		}
		c.Close()
		if got := strings.Split(l.String(), "\n"); len(got) != 5 || got[1] != want {
			t.Errorf("%s:\n%s\nwant\n%s", path, strings.Join(got, "\n"), want)
		}
	}
}

// With ClassOnly, spans contain no text from the server.
func TestClassOnly(t *testing.T) {
	t.Parallel()
	l := &log{}
	c := fetch.New(&fetch.Options{Recorder: otel.Recorder(&otel.Options{TracerProvider: tracers{log: l}, ClassOnly: true})},
		fetch.Use("x", fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
			return nil, &fetch.Error{Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 550, Text: "s3cr3t"}}
		})))
	defer c.Close()
	c.Get(t.Context(), "x:none")
	if got := l.String(); !strings.HasSuffix(got, " Error: not_found") {
		t.Errorf("got\n%s", got)
	}
}

// A peer may have no address, such as a pipe, or only a name if a proxy is used.
func TestPeersWithoutAddress(t *testing.T) {
	t.Parallel()
	record, l := recorder()
	c := fetch.New(&fetch.Options{Recorder: record, DialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		far.Close()
		return near, nil
	}}, urlhttp.Load)
	defer c.Close()
	if _, err := c.Get(t.Context(), "http://h.example/"); !errors.Is(err, io.ErrClosedPipe) || fetch.CodeOf(err) != fetch.ErrNetwork {
		t.Errorf("class %s, error %v", fetch.CodeOf(err), err)
	}
	if got := l.String(); !strings.Contains(got, "network.peer.address=pipe network.transport=pipe server.address=h.example") {
		t.Errorf("got\n%s", got)
	}
}

// The recorder does not request the transferred bytes, so the kernel can move them.
func TestRecorderRequestsNoBytes(t *testing.T) {
	t.Parallel()
	record, _ := recorder()
	x := record.Record(t.Context(), &fetch.Request{})
	if x.Content != nil || x.Received != nil || x.Sent != nil {
		t.Error("the bytes are wanted")
	}
	x.End(nil)
}

// Without an OpenTelemetry setup, the recorder has no cost and no output.
func Example() {
	c := fetch.New(&fetch.Options{Recorder: otel.Recorder(nil)}, fetch.Use("x-echo", fetch.DriverFunc(
		func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
			return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: io.NopCloser(bytes.NewBufferString(req.URL.Path()))}, nil
		})))
	defer c.Close()
	resp, err := c.Get(context.Background(), "x-echo:hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	fmt.Println(string(text), err)
	// Output: hello <nil>
}
