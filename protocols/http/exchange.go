package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/driver"
)

// An exchange is a request that was answered.
type exchange struct {
	driver *opener
	req    *driver.Request
	target *target
	sent   *http.Request
	resp   *http.Response
	ctx    context.Context // of the answer's body
	cancel context.CancelCauseFunc
	plain  *plainConn // that the answer comes from; nil if it has TLS
}

// send sends the request and reads the header of the answer.
func (d *opener) send(ctx context.Context, req *driver.Request, t *target, auth []*authenticator, rec *record) (*exchange, error) {
	ex := &exchange{driver: d, req: req, target: t}
	ex.ctx, ex.cancel = context.WithCancelCause(ctx)
	w := newWait(ctx, d.env.Timeouts(), t.body != nil, ex.cancel)
	defer w.end()
	sent, err := d.request(w.follow(ex.ctx, rec), req, t, auth)
	if err != nil {
		ex.cancel(nil)
		return nil, err
	}
	if w.upload != nil {
		w.upload.of(sent)
	}
	ex.sent = rec.follow(sent, t)
	ex.resp, err = d.roundTripper().RoundTrip(ex.sent)
	ex.plain = w.end()
	if err != nil {
		err = failure(ex.ctx, err)
		ex.cancel(nil)
		rec.failed()
		if !w.begun() {
			t.unsent = true
		}
		return nil, err
	}
	rec.answered(ex.resp)
	if cookies := ex.resp.Cookies(); t.cookies != nil && len(cookies) > 0 {
		d.cookies.Store(true)
		d.Jar.SetCookies(t.cookies, cookies)
	}
	return ex, nil
}

// maxErrorBody bounds what is kept of an error page.
const maxErrorBody = 64 << 10

// refused ends an exchange with err, which gets the error page.
func (ex *exchange) refused(err error) error {
	e, ok := err.(*driver.Error)
	if !ok || ex.resp.StatusCode < 400 {
		ex.discard()
		return err
	}
	e.Header = textproto.MIMEHeader(ex.resp.Header)
	e.Body, e.Partial = ex.finish(maxErrorBody)
	return e
}

// discard ends an exchange whose body is not wanted. A short one is read, so that the connection
// can be used again.
func (ex *exchange) discard() { ex.finish(16 << 10) }

// finish ends an exchange and returns up to max bytes of its body, as far as they come without
// delay. Partial reports whether there was more.
func (ex *exchange) finish(max int64) (content []byte, partial bool) {
	const delay = 500 * time.Millisecond
	stop := time.AfterFunc(delay, func() { ex.cancel(nil) })
	content, err := io.ReadAll(io.LimitReader(ex.resp.Body, max+1))
	stop.Stop()
	ex.resp.Body.Close()
	ex.cancel(nil)
	return content[:min(int64(len(content)), max)], err != nil || int64(len(content)) > max
}

// reply returns the status as the server sent it.
func (ex *exchange) reply() driver.Reply {
	text := ex.resp.Status
	if len(text) > 4 {
		text = text[4:] // after the code, which net/http has checked
	} else {
		text = ""
	}
	return driver.Reply{Code: ex.resp.StatusCode, Text: text}
}

// fail returns an error about the answer.
func (ex *exchange) fail(code driver.Code, format string, args ...any) *driver.Error {
	e := &driver.Error{Code: code, Reply: ex.reply()}
	if format != "" {
		e.Err = fmt.Errorf(format, args...)
	}
	return e
}

// failure translates an error of net/http. Errors of the network are left as they are: the client
// knows their classes.
func failure(ctx context.Context, err error) error {
	var (
		own    *driver.Error
		netErr net.Error
	)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &own):
		return own
	case err == io.EOF, isLost(err):
		return &driver.Error{Code: driver.ErrNetwork, Retry: true,
			Err: fmt.Errorf("the server closed the connection without an answer: %w", err)}
	case errors.As(err, &netErr) && netErr.Timeout():
		return &driver.Error{Code: driver.ErrNetwork, Retry: true, Err: fmt.Errorf("no answer in time: %w", err)}
	case errors.As(err, &netErr), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return &driver.Error{Code: driver.ErrProtocol, Err: notHTTP(err)}
}

// notHTTP says of an answer that is none what the server said, instead of where net/http noticed.
// There are no types for that.
func notHTTP(err error) error {
	for _, what := range []string{"malformed HTTP response ", "malformed HTTP status code ", "malformed HTTP version "} {
		if _, said, ok := strings.Cut(err.Error(), what); ok {
			return fmt.Errorf("the server does not speak HTTP, but said %s", said)
		}
	}
	if _, said, ok := strings.Cut(err.Error(), "bad Content-Length "); ok {
		return fmt.Errorf("the server announces a length that no content has: %s", said)
	}
	if strings.Contains(err.Error(), "readLoopPeekFailLocked") { // what came was not waited for
		return errors.New("the server does not speak HTTP, but speaks before it is asked")
	}
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: ") {
		return inner
	}
	return err
}

// isLost recognises the errors of net/http about a connection or a stream that ended. They have no
// types of their own.
func isLost(err error) bool {
	text := err.Error()
	return text == "http: server closed idle connection" ||
		strings.HasPrefix(text, "http2: client conn") || // was lost, or could not be established
		strings.HasPrefix(text, "http2: server sent GOAWAY") ||
		strings.HasPrefix(text, "stream error: ") && strings.HasSuffix(text, "received from peer") // not one of ours
}
