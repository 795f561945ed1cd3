package http

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const mask = "xxxxx"

// A record passes one exchange to the client's Recorder. Over HTTP/1.1 the connection records the
// bytes, and the record extracts the lines of the heads from them. HTTP/2 and HTTP/3 messages are
// recorded in the form of HTTP/1.1. A nil record does nothing.
//
// An exchange may take several requests. Each call of follow begins the next one.
type record struct {
	exchange *fetch.Recording
	ctx      context.Context

	mu      sync.Mutex
	target  *target
	request *http.Request
	conn    int    // the number of the connection
	end     func() // of the record of an HTTP/1.1 connection; nil for HTTP/2 and later
	head    []byte // bytes received before the head of the response was complete
	sent    bool   // the head of the request was recorded, for HTTP/2 and later
	shown   bool   // the request line was passed on
	done    bool   // the head of the response was received
}

func newRecord(ctx context.Context, env fetch.Env) *record {
	x := fetch.RecordingOf(ctx)
	if x == nil {
		return nil
	}
	return &record{exchange: x, ctx: ctx}
}

// follow returns the request to send for req, whose body is recorded too.
func (r *record) follow(req *http.Request, t *target) *http.Request {
	if r == nil {
		return req
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target, r.request, r.end, r.done = t, req, nil, false
	if r.exchange.Sent == nil || req.Body == nil {
		return req
	}
	out := req.WithContext(req.Context())
	wrapBody(out, func(body io.ReadCloser) io.ReadCloser { return &recordedUpload{body, r} })
	return out
}

// A recordedUpload records a request body over HTTP/2 and later, as it is read for sending.
// HTTP/1.1 connections record it themselves.
type recordedUpload struct {
	io.ReadCloser
	r *record
}

func (u *recordedUpload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if n > 0 {
		u.r.upload(p[:n])
	}
	return n, err
}

func (r *record) upload(p []byte) {
	r.wroteHead()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == nil {
		r.exchange.Sent(r.conn, p)
	}
}

// connected records the connection that serves the request. Net/http takes another one if the
// server has closed the first.
func (r *record) connected(info httptrace.GotConnInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.head, r.shown, r.sent, r.end = nil, false, false, nil
	conn := connOf(info.Conn)
	m := &masker{from: r.target.passwordFrom, to: r.target.passwordTo}
	m.name = m.short[:0]
	taps := fetch.Taps{Mask: m.mask}
	if r.exchange.Line != nil {
		taps.Received = r.received
	}
	number, end := conn.Record(r.ctx, taps)
	r.conn = number
	if s := conn.TLS(); s == nil || s.NegotiatedProtocol != "h2" && s.NegotiatedProtocol != "h3" {
		r.end = end
	}
}

func (r *record) received(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.done {
		r.head = append(r.head, p[:min(len(p), maxHeader-len(r.head))]...)
	}
}

// wroteField passes on a field of the request, with the request line before the first field.
func (r *record) wroteField(name string, values []string) {
	r.mu.Lock()
	first, t := !r.shown, r.target
	r.shown = true
	r.mu.Unlock()
	if first && !strings.HasPrefix(name, ":") {
		r.exchange.Line(true, t.method+" "+redacted(t.url.RequestURI())+" HTTP/1.1")
	}
	for _, v := range values {
		r.exchange.Line(true, field(name, v))
	}
}

// wroteHead records the head of a request over HTTP/2 and later, once per connection. Net/http may
// report it as written only after the response has arrived.
func (r *record) wroteHead() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == nil && !r.sent {
		r.sent = true
		r.exchange.Sent(r.conn, new(masker).mask(requestHead(r.request)))
	}
}

func (r *record) failed() {
	if r == nil {
		return
	}
	r.mu.Lock()
	end := r.end
	r.mu.Unlock()
	if end != nil {
		end()
	}
}

func (r *record) responded(resp *http.Response) {
	if r == nil {
		return
	}
	r.mu.Lock()
	head, end, conn := r.head, r.end, r.conn
	r.head, r.done = nil, true
	r.mu.Unlock()
	if r.exchange.Line != nil {
		for _, line := range lines(head, resp) {
			r.exchange.Line(false, line)
		}
	}
	if end != nil {
		resp.Body = &recordedBody{ReadCloser: resp.Body, end: end}
		return
	}
	if r.exchange.Sent != nil {
		r.wroteHead()
	}
	if r.exchange.Received != nil {
		r.exchange.Received(conn, responseHead(resp))
		received := func(p []byte) { r.exchange.Received(conn, p) }
		resp.Body = &recordedBody{ReadCloser: resp.Body, received: received}
	}
}

// A recordedBody ends the record of a connection with the body, or records the bytes of the body.
type recordedBody struct {
	io.ReadCloser
	received func([]byte) // nil if the connection records them
	end      func()       // nil if there is nothing to end
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.received != nil {
		b.received(p[:n])
	}
	if err != nil && b.end != nil {
		b.end()
	}
	return n, err
}

func (b *recordedBody) Close() error {
	if b.end != nil {
		b.end()
	}
	return b.ReadCloser.Close()
}

// lines returns the heads of a response for display. They are printed as received, including
// interim responses, if head has them. Otherwise the fields are sorted by name.
func lines(head []byte, resp *http.Response) []string {
	var list []string
	for {
		text, rest, ok := bytes.Cut(head, []byte("\n\r\n"))
		if !ok {
			break
		}
		status := ""
		for i, line := range strings.Split(string(text), "\n") {
			line = strings.TrimSuffix(line, "\r")
			if i == 0 {
				status = line
			} else if name, value, ok := strings.Cut(line, ":"); ok {
				line = field(name, strings.TrimSpace(value))
			}
			list = append(list, line)
		}
		if _, code, _ := strings.Cut(status, " "); !strings.HasPrefix(code, "1") {
			return list
		}
		head = rest
	}
	return append([]string{resp.Proto + " " + resp.Status}, shown(resp.Header)...)
}

// shown returns the fields for display, sorted and without secrets.
func shown(h http.Header) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			lines = append(lines, field(name, v))
		}
	}
	return lines
}

func field(name, value string) string {
	switch http.CanonicalHeaderKey(name) {
	case "Authorization", "Proxy-Authorization":
		scheme, _, _ := strings.Cut(value, " ")
		value = scheme + " " + mask
	case "Cookie", "Set-Cookie", "Set-Cookie2":
		key, _, _ := strings.Cut(value, "=")
		value = key + "=" + mask
	case "Location", "Content-Location", "Referer", ":path":
		value = redacted(value)
	default:
		if fetch.IsSecretField(name) {
			value = mask
		}
	}
	return name + ": " + value
}

func redacted(text string) string {
	if u, err := uri.ParseRef(text); err == nil {
		return u.Redacted()
	}
	return mask
}

// A masker replaces the secrets in the head of a request by asterisks, without changing its length.
// The head may arrive in pieces.
type masker struct {
	from, to int // the password in the request line; 0 if there is none

	at     int    // bytes of the head so far
	fields bool   // the request line has ended
	name   []byte // of the field in lower case, as far as received
	short  [24]byte
	value  bool // the name is complete
	secret bool // the value is masked
	body   bool // the head has ended
}

func (m *masker) mask(p []byte) []byte {
	out := p
	for i, c := range p {
		if m.body {
			break
		}
		if m.next(c) {
			if &out[0] == &p[0] {
				out = bytes.Clone(p)
			}
			out[i] = '*'
		}
	}
	return out
}

func (m *masker) next(c byte) bool {
	m.at++
	switch {
	case m.at > m.from && m.at <= m.to:
		return true
	case !m.fields:
		m.fields = c == '\n'
	case c == '\n':
		m.body = len(m.name) == 0 && !m.value
		m.name, m.value, m.secret = m.name[:0], false, false
		return false
	case c == '\r', m.value && !m.secret:
		return false
	case m.value:
		return c != ' '
	case c == ':':
		m.value, m.secret = true, fetch.IsSecretField(string(m.name))
	case 'A' <= c && c <= 'Z':
		m.name = append(m.name, c+'a'-'A')
	default:
		m.name = append(m.name, c)
	}
	return false
}

func requestHead(r *http.Request) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.URL.RequestURI(), r.Host)
	if r.ContentLength > 0 {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", r.ContentLength)
	}
	r.Header.Write(&b)
	b.WriteString("\r\n")
	return b.Bytes()
}

func responseHead(resp *http.Response) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %s\r\n", resp.Status)
	resp.Header.Write(&b)
	b.WriteString("\r\n")
	return b.Bytes()
}
