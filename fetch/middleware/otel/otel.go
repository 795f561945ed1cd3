// Package otel reports the exchanges of a fetch.Client to OpenTelemetry: a span for each, and metrics
// for their number, size and duration. It depends only on the API of OpenTelemetry; the program
// chooses the exporters.
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
	"github.com/urlget/urlget/fetch/uri"
)

// These names must not change, because dashboards use them.
const (
	scopeName = "github.com/urlget/urlget/fetch/middleware/otel"

	opKey        = attribute.Key("fetch.op")
	replyCodeKey = attribute.Key("fetch.reply.code")
	sizeKey      = attribute.Key("fetch.content.size")
	closedKey    = attribute.Key("fetch.closed")

	exchangesName = "fetch.client.exchanges"
	contentName   = "fetch.client.content"
	durationName  = "fetch.client.duration"
)

// Options configure a Recorder. Nil providers mean the global ones.
type Options struct {
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// ClassOnly limits the status of a failed span to the class of the error, without text from the
	// server.
	ClassOnly bool
}

// Recorder returns a fetch.Recorder for fetch.Options. Nil opts mean the zero value. The kernel can
// still move bytes from the socket to a file.
//
// Each hop of a redirect has a span, a child of the span in the context of the request. Its
// attributes follow the semantic conventions: url.full (see [URL]), url.scheme, server.address,
// server.port, network.peer.address, network.peer.port, network.transport, tls.protocol.version and
// tls.cipher. HTTP has http.response.status_code. The value of error.type is the class of the error.
// Other attributes are:
//
//   - fetch.op: "get", "stat", "list" or "dial"
//   - fetch.reply.code: the status code of other protocols
//   - fetch.content.size: the bytes of content that were read
//   - fetch.closed: true if the caller closed the body before its end
//
// The instruments have the attributes url.scheme and error.type. The counter fetch.client.exchanges
// counts completed exchanges, and fetch.client.content the bytes of content that were read. The
// histogram fetch.client.duration has the time from the start of an exchange to the end of its body,
// in seconds. The instrumentation scope is github.com/urlget/urlget/fetch/middleware/otel.
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
	r := &recorder{classOnly: opts.ClassOnly}
	r.tracer = tracers.Tracer(scopeName, trace.WithSchemaURL(semconv.SchemaURL))
	r.instruments(meters.Meter(scopeName, metric.WithSchemaURL(semconv.SchemaURL)))
	return r
}

type recorder struct {
	classOnly bool
	tracer    trace.Tracer
	exchanges metric.Int64Counter
	content   metric.Int64Counter
	duration  metric.Float64Histogram
}

// instruments creates the instruments. An instrument that cannot be created is replaced by a no-op.
func (r *recorder) instruments(meter metric.Meter) {
	var errs [3]error
	r.exchanges, errs[0] = meter.Int64Counter(exchangesName, metric.WithUnit("{exchange}"),
		metric.WithDescription("Exchanges that have ended."))
	r.content, errs[1] = meter.Int64Counter(contentName, metric.WithUnit("By"),
		metric.WithDescription("Content that was read."))
	r.duration, errs[2] = meter.Float64Histogram(durationName, metric.WithUnit("s"),
		metric.WithDescription("Time from the beginning of an exchange to the end of its body."),
		metric.WithExplicitBucketBoundaries(
			.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800))
	if err := errors.Join(errs[:]...); err != nil {
		api.Handle(err)
	}
}

// Record starts the span of an exchange.
func (r *recorder) Record(ctx context.Context, req *fetch.Request) *fetch.Recording {
	u := req.URL
	attrs := []attribute.KeyValue{semconv.URLFull(URL(u)), semconv.URLScheme(u.Scheme()),
		opKey.String(req.Op.String())}
	if host := u.Host(); host != "" {
		attrs = append(attrs, semconv.ServerAddress(host))
	}
	if port := u.Port(0); port != 0 {
		attrs = append(attrs, semconv.ServerPort(int(port)))
	}
	ctx, span := r.tracer.Start(ctx, req.Op.String()+" "+u.Scheme(),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	x := &exchange{recorder: r, ctx: ctx, scheme: u.Scheme(), span: span, start: time.Now()}
	return &fetch.Recording{Peer: x.peer, Response: x.response, Size: x.size, End: x.end}
}

type exchange struct {
	*recorder
	ctx    context.Context
	scheme string
	span   trace.Span
	start  time.Time
	peers  sync.Once
	bytes  int64
}

// peer records the address and the TLS state of the first connection.
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

func address(addr net.Addr) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.NetworkTransportKey.String(addr.Network())}
	if ap, err := netip.ParseAddrPort(addr.String()); err == nil {
		return append(attrs, semconv.NetworkPeerAddress(ap.Addr().Unmap().String()),
			semconv.NetworkPeerPort(int(ap.Port())))
	}
	return append(attrs, semconv.NetworkPeerAddress(addr.String()))
}

func (x *exchange) response(resp *fetch.Response) { x.reply(resp.Reply) }

func (x *exchange) reply(reply fetch.Reply) {
	if reply.Code != 0 {
		x.span.SetAttributes(StatusCode(x.scheme, reply.Code))
	}
}

// StatusCode returns the attribute for the status code of a response: http.response.status_code or,
// for other schemes, fetch.reply.code.
func StatusCode(scheme string, code int) attribute.KeyValue {
	if scheme == "http" || scheme == "https" {
		return semconv.HTTPResponseStatusCode(code)
	}
	return replyCodeKey.Int(code)
}

func (x *exchange) size(n int64) { x.bytes = n }

func (x *exchange) end(err error) {
	attrs := []attribute.KeyValue{semconv.URLScheme(x.scheme)}
	class := fetch.CodeOf(err)
	e, failed := errors.AsType[*fetch.Error](err)
	switch {
	case err == nil, class == fetch.ErrNotModified:
	case class == "" && errors.Is(err, net.ErrClosed):
		x.span.SetAttributes(closedKey.Bool(true))
	default:
		kind := semconv.ErrorTypeOther
		if class != "" {
			kind = semconv.ErrorTypeKey.String(string(class))
		}
		attrs = append(attrs, kind)
		text := err.Error()
		if failed {
			text = e.Message() // without the URL, which may grant access
		}
		if x.classOnly {
			text = kind.Value.AsString()
		}
		x.span.SetAttributes(kind)
		x.span.SetStatus(codes.Error, text)
	}
	if failed {
		x.reply(e.Reply)
	}
	x.span.SetAttributes(sizeKey.Int64(x.bytes))
	x.span.End()
	set := metric.WithAttributes(attrs...)
	x.exchanges.Add(x.ctx, 1, set)
	x.content.Add(x.ctx, x.bytes, set)
	x.duration.Record(x.ctx, time.Since(x.start).Seconds(), set)
}

// signatures lists the query parameters whose values grant access, as in the semantic conventions of
// url.full.
var signatures = map[string]bool{"AWSAccessKeyId": true, "Signature": true, "sig": true,
	"X-Goog-Signature": true,
	"X-Amz-Signature":  true, "X-Amz-Credential": true, "X-Amz-Security-Token": true}

// URL returns the text of a URL for url.full, without userinfo and signatures.
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
