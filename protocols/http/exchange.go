package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/cookies"
	"github.com/urlget/urlget/protocols/internal/httphead"
)

type exchange struct {
	driver *opener
	req    *fetch.Request
	target *target
	sent   *http.Request
	resp   *http.Response
	ctx    context.Context         // of the response body
	cancel context.CancelCauseFunc // nil if alone is used
	plain  *plainConn              // the connection of the response; nil with TLS
	in     *incoming               // its receiving direction; nil with HTTP/2

	// These are parts of most exchanges, in one allocation.
	request http.Request
	alone   http1Exchange // of a connection that no other code uses
	body    responseBody
}

func (d *opener) send(
	ctx context.Context, req *fetch.Request, t *target, auth []*authenticator, rec *record,
) (*exchange, error) {
	ex := &exchange{driver: d, req: req, target: t, ctx: ctx}
	if err := d.request(ctx, &ex.request, req, t, auth); err != nil {
		return nil, err
	}
	if rec != nil && rec.exchange.Request != nil {
		rec.exchange.Request(d.variant(&ex.request, req, auth))
	}
	var conn net.Conn
	var err error
	if d.Transport == nil && t.url.Scheme == "http" && ex.request.Body == nil {
		err = d.http1.send(ex, rec)
		conn = ex.alone.conn()
	} else {
		conn, err = ex.transfer(rec)
	}
	ex.plain, _ = conn.(*plainConn)
	ex.in = incomingOf(conn)
	if err == nil && d.Transport == nil { // an archive has what a server sent
		if err = checkNames(ex.resp.Header); err != nil {
			ex.resp.Body.Close()
		}
	}
	if err != nil {
		err = failure(ex.ctx, err)
		ex.stop()
		rec.failed()
		return nil, err
	}
	rec.responded(ex.resp)
	d.observeHSTS(ex, conn)
	if t.cookies != nil && !req.NoCookies {
		if list := cookies.Parse(ex.resp.Header); len(list) > 0 {
			d.cookies.Store(true)
			d.Jar.SetCookies(t.cookies, list)
		}
	}
	return ex, nil
}

// transfer sends the request with another transport than http1, and returns the connection.
func (ex *exchange) transfer(rec *record) (net.Conn, error) {
	d, t, ctx := ex.driver, ex.target, ex.ctx
	ex.ctx, ex.cancel = context.WithCancelCause(ctx)
	w := newWait(ctx, d.env.Timeouts(), t.body != nil && !t.listing, ex.cancel)
	defer w.end()
	w.relay = ex.req.Relay
	sent := ex.request.WithContext(w.follow(ex.ctx, rec))
	if w.upload != nil {
		w.upload.of(sent)
	}
	ex.sent = rec.follow(sent, t)
	var err error
	ex.resp, err = d.roundTripper(ex.sent).RoundTrip(ex.sent)
	if err != nil && !w.begun() {
		t.unsent = true
	}
	return w.end(), err
}

// stop ends the exchange, if it has not ended.
func (ex *exchange) stop() {
	if ex.cancel != nil {
		ex.cancel(nil)
	} else if ex.alone.lease != nil {
		ex.alone.lease.Discard()
	}
}

// maxErrorBody limits the bytes read of an error page. They are read for archives, and so that the
// connection can be reused. The client keeps fewer.
const maxErrorBody = 64 << 10

// refused ends an exchange with err and adds the error page to it.
func (ex *exchange) refused(err error) error {
	e, ok := err.(*fetch.Error)
	if ok && ex.resp.StatusCode >= 300 {
		e.Header = textproto.MIMEHeader(ex.resp.Header)
	}
	if !ok || ex.resp.StatusCode < 400 {
		ex.discard()
		return err
	}
	e.Body, e.Partial = ex.finish(maxErrorBody)
	return e
}

// discard ends an exchange whose body is not needed. A short body is read, so that the connection
// can be reused.
func (ex *exchange) discard() { ex.finish(16 << 10) }

// finish ends an exchange and returns up to max bytes of its body, as far as they arrive within
// half a second. Partial reports whether there was more.
func (ex *exchange) finish(max int64) (content []byte, partial bool) {
	const delay = 500 * time.Millisecond
	stop := time.AfterFunc(delay, ex.stop)
	content, err := io.ReadAll(io.LimitReader(ex.resp.Body, max+1))
	stop.Stop()
	ex.resp.Body.Close()
	ex.stop()
	return content[:min(int64(len(content)), max)], err != nil || int64(len(content)) > max
}

func (ex *exchange) fail(code fetch.Code, format string, args ...any) *fetch.Error {
	e := &fetch.Error{Code: code, Reply: httphead.Reply(ex.resp)}
	if format != "" {
		e.Err = fmt.Errorf(format, args...)
	}
	return e
}

// failure translates an error of net/http. Network errors are not changed, because the client
// classifies them.
func failure(ctx context.Context, err error) error {
	var (
		own    *fetch.Error
		netErr net.Error
	)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &own):
		return own
	case err == io.EOF, isLost(err):
		return &fetch.Error{Code: fetch.ErrNetwork, Retry: true,
			Err: fmt.Errorf("the server closed the connection without a response: %w", err)}
	case errors.As(err, &netErr) && netErr.Timeout():
		return &fetch.Error{Code: fetch.ErrNetwork, Retry: true,
			Err: fmt.Errorf("no response in time: %w", err)}
	case errors.As(err, &netErr), errors.Is(err, net.ErrClosed),
		errors.Is(err, io.ErrClosedPipe), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Err: notHTTP(err)}
}

// notHTTP returns the server's words from an error about a malformed response, without the place
// where net/http detected it. These errors have no types.
func notHTTP(err error) error {
	for _, what := range []string{
		"malformed HTTP response ", "malformed HTTP status code ", "malformed HTTP version ",
	} {
		if _, rest, ok := strings.Cut(err.Error(), what); ok {
			return fmt.Errorf("the server does not speak HTTP: it sent %s", rest)
		}
	}
	if _, line, ok := strings.Cut(err.Error(), "malformed MIME header line: "); ok {
		if text, err := strconv.Unquote(line); err == nil {
			line = text
		}
		return malformedField(line)
	}
	if strings.Contains(err.Error(), "malformed MIME header: missing colon") {
		return malformedField("")
	}
	if _, rest, ok := strings.Cut(err.Error(), "bad Content-Length "); ok {
		return fmt.Errorf("invalid Content-Length: %s", rest)
	}
	if strings.Contains(err.Error(), "readLoopPeekFailLocked") { // data arrived before a request
		return errors.New("the server does not speak HTTP: it sent data before the request")
	}
	const broken = "net/http: HTTP/1.x transport connection broken: "
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), broken) {
		return inner
	}
	return err
}

// malformedField says what is wrong with a line of a header, without the value, which may be a secret.
func malformedField(line string) error {
	name, _, ok := strings.Cut(line, ":")
	switch {
	case !ok:
		return errors.New("a header line has no colon")
	case name == "":
		return errors.New("a header field has no name")
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("the header field name %q is malformed", name)
	}
	return fmt.Errorf("the header field %s has a control character", name)
}

// checkNames rejects names that net/http takes although they have a blank inside. One before the colon is
// ignored (RFC 9112, section 5.1), except that a coding may not be ignored: chunk sizes would become content.
func checkNames(h http.Header) error {
	for name := range h {
		trimmed := strings.TrimRight(name, " \t")
		if !httpguts.ValidHeaderFieldName(trimmed) ||
			trimmed != name && strings.EqualFold(trimmed, "Transfer-Encoding") {
			return &fetch.Error{Code: fetch.ErrProtocol, Err: malformedField(name + ":")}
		}
	}
	return nil
}

// isLost reports whether err is an error of net/http about a closed connection or stream. These
// errors have no types.
func isLost(err error) bool {
	text := err.Error()
	return text == "http: server closed idle connection" ||
		strings.HasPrefix(text, "http2: client conn") || // was lost, or could not be established
		strings.HasPrefix(text, "http2: server sent GOAWAY") ||
		strings.HasPrefix(text, "http2: Transport received GOAWAY") ||
		// The others are ours.
		strings.HasPrefix(text, "stream error: ") && strings.HasSuffix(text, "received from peer")
}
