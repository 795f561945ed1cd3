// Package otel tells OpenTelemetry of the exchanges of a fetch.Client: a span for each, and how
// many there were, how much they brought and how long they took. It needs the API of OpenTelemetry
// only; what becomes of spans and numbers is the program's choice.
package otel

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// Name is the name of the instrumentation scope.
const Name = "github.com/urlget/urlget/fetch/middleware/otel"

// The attributes for which there are no semantic conventions.
const (
	OpKey        = attribute.Key("fetch.op")           // "get", "stat", "list" or "dial"
	ReplyCodeKey = attribute.Key("fetch.reply.code")   // the number of the server's reply
	SizeKey      = attribute.Key("fetch.content.size") // bytes of content that were read
	ClosedKey    = attribute.Key("fetch.closed")       // true if the caller closed the body before its end
)

// The instruments.
const (
	// Exchanges counts the exchanges that have ended.
	Exchanges = "fetch.client.exchanges"
	// Content counts the bytes of content that were read.
	Content = "fetch.client.content"
	// Duration is a histogram of the time from the beginning of an exchange to the end of its body,
	// in seconds.
	Duration = "fetch.client.duration"
)

// Options say whom to tell; nil means the global providers.
type Options struct {
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// ClassOnly says that the status of a failed span has the class of the error alone, and nothing
	// that a server said.
	ClassOnly bool
}

// Recorder returns a fetch.Recorder for fetch.Options. Each hop of a redirect has a span, a child
// of that in the context of the request, with the attributes of the semantic conventions: url.full
// as by [URL], url.scheme, server.address, server.port, network.peer.address and its like,
// tls.protocol.version, tls.cipher, for HTTP http.response.status_code, and error.type, which is
// the class of the error. The instruments have url.scheme and error.type.
//
// Bytes keep the kernel's way from the socket to a file.
func Recorder(opts *Options) fetch.Recorder {
	if opts == nil {
		opts = &Options{}
	}
	tracers, meters := opts.TracerProvider, opts.MeterProvider
	if tracers == nil {
		tracers = api.GetTracerProvider()
	}
	if meters == nil {
		meters = api.GetMeterProvider()
	}
	r := &recorder{classOnly: opts.ClassOnly, tracer: tracers.Tracer(Name, trace.WithSchemaURL(semconv.SchemaURL))}
	r.instruments(meters.Meter(Name, metric.WithSchemaURL(semconv.SchemaURL)))
	return r.record
}

type recorder struct {
	classOnly bool
	tracer    trace.Tracer
	exchanges metric.Int64Counter
	content   metric.Int64Counter
	duration  metric.Float64Histogram
}

// instruments makes the instruments. What cannot be made does nothing.
func (r *recorder) instruments(meter metric.Meter) {
	var errs [3]error
	r.exchanges, errs[0] = meter.Int64Counter(Exchanges, metric.WithUnit("{exchange}"),
		metric.WithDescription("Exchanges that have ended."))
	r.content, errs[1] = meter.Int64Counter(Content, metric.WithUnit("By"),
		metric.WithDescription("Content that was read."))
	r.duration, errs[2] = meter.Float64Histogram(Duration, metric.WithUnit("s"),
		metric.WithDescription("Time from the beginning of an exchange to the end of its body."),
		metric.WithExplicitBucketBoundaries(.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800))
	if err := errors.Join(errs[:]...); err != nil {
		api.Handle(err)
	}
}

// record begins the span of an exchange.
func (r *recorder) record(ctx context.Context, req *fetch.Request) *fetch.Recording {
	u := req.URL
	attrs := []attribute.KeyValue{semconv.URLFull(URL(u)), semconv.URLScheme(u.Scheme()), OpKey.String(req.Op.String())}
	if host := u.Host(); host != "" {
		attrs = append(attrs, semconv.ServerAddress(host))
	}
	if port := u.Port(0); port != 0 {
		attrs = append(attrs, semconv.ServerPort(int(port)))
	}
	ctx, span := r.tracer.Start(ctx, req.Op.String()+" "+u.Scheme(), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	x := &exchange{recorder: r, ctx: ctx, scheme: u.Scheme(), span: span, start: time.Now()}
	return &fetch.Recording{Peer: x.peer, Response: x.response, Size: x.size, End: x.end}
}

// An exchange is one that goes on.
type exchange struct {
	*recorder
	ctx    context.Context
	scheme string
	span   trace.Span
	start  time.Time
	peers  sync.Once
	bytes  int64
}

// peer notes the address of the first connection, and its TLS.
func (x *exchange) peer(conn int, addr net.Addr, state *tls.ConnectionState) {
	if conn != 1 {
		return
	}
	x.peers.Do(func() { x.span.SetAttributes(address(addr)...) })
	if state != nil {
		x.span.SetAttributes(
			semconv.TLSProtocolVersion(strings.TrimPrefix(tls.VersionName(state.Version), "TLS ")),
			semconv.TLSCipher(tls.CipherSuiteName(state.CipherSuite)))
	}
}

// address describes the other end of a connection.
func address(addr net.Addr) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.NetworkTransportKey.String(addr.Network())}
	if ap, err := netip.ParseAddrPort(addr.String()); err == nil {
		return append(attrs, semconv.NetworkPeerAddress(ap.Addr().Unmap().String()), semconv.NetworkPeerPort(int(ap.Port())))
	}
	return append(attrs, semconv.NetworkPeerAddress(addr.String()))
}

func (x *exchange) response(resp *driver.Response) { x.reply(resp.Reply) }

func (x *exchange) reply(reply fetch.Reply) {
	if reply.Code != 0 {
		x.span.SetAttributes(StatusCode(x.scheme, reply.Code))
	}
}

// StatusCode returns the attribute for the number of a server's reply: http.response.status_code or,
// for other schemes, [ReplyCodeKey].
func StatusCode(scheme string, code int) attribute.KeyValue {
	if scheme == "http" || scheme == "https" {
		return semconv.HTTPResponseStatusCode(code)
	}
	return ReplyCodeKey.Int(code)
}

func (x *exchange) size(n int64) { x.bytes = n }

func (x *exchange) end(err error) {
	attrs := []attribute.KeyValue{semconv.URLScheme(x.scheme)}
	class := fetch.CodeOf(err)
	var failed *fetch.Error
	switch {
	case err == nil, class == fetch.ErrNotModified:
	case class == "" && errors.Is(err, net.ErrClosed):
		x.span.SetAttributes(ClosedKey.Bool(true))
	default:
		kind := semconv.ErrorTypeOther
		if class != "" {
			kind = semconv.ErrorTypeKey.String(string(class))
		}
		attrs = append(attrs, kind)
		text := err.Error()
		if errors.As(err, &failed) {
			text = failed.Message() // without the URL, which may grant access
		}
		if x.classOnly {
			text = kind.Value.AsString()
		}
		x.span.SetAttributes(kind)
		x.span.SetStatus(codes.Error, text)
	}
	if errors.As(err, &failed) {
		x.reply(failed.Reply)
	}
	x.span.SetAttributes(SizeKey.Int64(x.bytes))
	x.span.End()
	set := metric.WithAttributes(attrs...)
	x.exchanges.Add(x.ctx, 1, set)
	x.content.Add(x.ctx, x.bytes, set)
	x.duration.Record(x.ctx, time.Since(x.start).Seconds(), set)
}

// signatures are the parameters of a query whose values grant access. The semantic conventions of
// url.full name them.
var signatures = map[string]bool{"AWSAccessKeyId": true, "Signature": true, "sig": true, "X-Goog-Signature": true,
	"X-Amz-Signature": true, "X-Amz-Credential": true, "X-Amz-Security-Token": true}

// URL returns the text of a URL for url.full: without its userinfo and signatures.
func URL(u uri.URI) string {
	text := u.WithoutUserinfo().String()
	head, query, ok := strings.Cut(text, "?")
	if !ok {
		return text
	}
	query, fragment, hasFragment := strings.Cut(query, "#")
	parts := strings.Split(query, "&")
	for i, p := range parts {
		if name, _, ok := strings.Cut(p, "="); ok && signatures[name] {
			parts[i] = name + "=REDACTED"
		}
	}
	text = head + "?" + strings.Join(parts, "&")
	if hasFragment {
		text += "#" + fragment
	}
	return text
}
