package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
)

// An exchange is a request that was answered.
type exchange struct {
	driver *driver
	req    *fetch.Request
	target *target
	sent   *http.Request
	resp   *http.Response
	ctx    context.Context // of the answer's body
	cancel context.CancelCauseFunc
}

// send sends the request and reads the header of the answer.
func (d *driver) send(ctx context.Context, req *fetch.Request, t *target, auth []*authenticator) (*exchange, error) {
	ex := &exchange{driver: d, req: req, target: t}
	ex.ctx, ex.cancel = context.WithCancelCause(ctx)
	var err error
	if ex.sent, err = d.request(traced(ex.ctx, d.env.Trace(), t), t, auth); err != nil {
		ex.cancel(nil)
		return nil, err
	}
	ex.resp, err = d.transport(ctx).RoundTrip(ex.sent)
	if err != nil {
		ex.cancel(nil)
		return nil, failure(ctx, err)
	}
	traceReply(d.env.Trace(), ex.resp)
	if t.cookies != nil {
		d.Jar.SetCookies(t.cookies, ex.resp.Cookies())
	}
	return ex, nil
}

// discard ends an exchange whose body nobody wants. A short one is read, so
// that the connection can be used again, if it comes without delay.
func (ex *exchange) discard() {
	const (
		short = 16 << 10
		delay = 500 * time.Millisecond
	)
	stop := time.AfterFunc(delay, func() { ex.cancel(nil) })
	io.CopyN(io.Discard, ex.resp.Body, short)
	stop.Stop()
	ex.resp.Body.Close()
	ex.cancel(nil)
}

// reply returns the status as the server sent it.
func (ex *exchange) reply() fetch.Reply {
	text := ex.resp.Status
	if len(text) > 4 {
		text = text[4:] // behind the code, which net/http has checked
	} else {
		text = ""
	}
	return fetch.Reply{Code: ex.resp.StatusCode, Text: text}
}

// fail returns an error about the answer.
func (ex *exchange) fail(code fetch.Code, format string, args ...any) *fetch.Error {
	e := &fetch.Error{Code: code, Reply: ex.reply()}
	if format != "" {
		e.Err = fmt.Errorf(format, args...)
	}
	return e
}

// failure says what an error of net/http means. What the network says of
// itself is left as it is: the client knows its classes.
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
			Err: fmt.Errorf("the server closed the connection without an answer: %w", err)}
	case errors.As(err, &netErr) && netErr.Timeout():
		return &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: fmt.Errorf("no answer in time: %w", err)}
	case errors.As(err, &netErr), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
}

// isLost recognises what net/http says of a connection, or a stream of one,
// that ended. Its errors have no types for that.
func isLost(err error) bool {
	text := err.Error()
	return text == "http: server closed idle connection" ||
		strings.HasPrefix(text, "http2: client connection lost") ||
		strings.HasPrefix(text, "http2: server sent GOAWAY") ||
		strings.HasPrefix(text, "stream error: ")
}
