package http3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/urlget/urlget/fetch"
)

type exchange struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	upload *upload     // the request body; nil if there is none
	wrote  atomic.Bool // the head of the request was sent
	ending sync.Once
	end    func()
}

// roundTripOn sends a request over a connection and returns the response when its head is received. The
// connection is released when the response ends.
func (t *transport) roundTripOn(c *conn, req *http.Request) (*http.Response, error) {
	x := new(exchange)
	x.ctx, x.cancel = context.WithCancelCause(req.Context())
	x.end = func() { t.ended(c, x) }
	trace := &httptrace.ClientTrace{WroteHeaders: func() { x.wrote.Store(true) }}
	sent := req.WithContext(httptrace.WithClientTrace(x.ctx, trace))
	if sent.Body = nil; hasBody(req) {
		x.upload = newUpload(req, x.cancel)
		sent.Body = x.upload
	}
	sent.Host = withoutZone(sent.Host, sent.URL.Host)
	resp, err := c.client.RoundTrip(sent)
	if err == nil && !hasStatus(resp) {
		resp.Body.Close()
		err = fmt.Errorf("invalid status %q", resp.Status)
	}
	if err != nil {
		err = x.explain(err)
		x.ending.Do(x.end)
		return nil, err
	}
	resp.Request = req
	resp.Body = &responseBody{ReadCloser: resp.Body, exchange: x}
	return resp, nil
}

// hasStatus reports whether the status has three digits. Quic-go accepts any number.
func hasStatus(resp *http.Response) bool {
	return 100 <= resp.StatusCode && resp.StatusCode <= 999 &&
		strings.HasPrefix(resp.Status, strconv.Itoa(resp.StatusCode)+" ")
}

// ended ends the use of a connection by an exchange. If the response ended before the upload, the
// connection is retired, because quic-go cannot end the upload otherwise.
func (t *transport) ended(c *conn, x *exchange) {
	if x.upload != nil {
		x.upload.Close()
		if !x.upload.over.Load() {
			t.pool.retire(c)
		}
	}
	x.cancel(nil)
	t.pool.release(c)
}

// withoutZone returns the authority to send, without the zone of an IPv6 address. A zone is only
// valid on this machine (RFC 6874, section 4).
func withoutZone(host, authority string) string {
	if host == "" {
		host = authority
	}
	zone, end := strings.IndexByte(host, '%'), strings.LastIndexByte(host, ']')
	if !strings.HasPrefix(host, "[") || zone < 0 || end < zone {
		return host
	}
	return host[:zone] + host[end:]
}

// An upload is the body of a request. If its length differs from Content-Length, the exchange
// fails.
type upload struct {
	body    io.ReadCloser
	sized   bool
	left    int64 // bytes that remain, if sized
	fail    context.CancelCauseFunc
	over    atomic.Bool // the complete body was read
	closing sync.Once
}

func newUpload(req *http.Request, fail context.CancelCauseFunc) *upload {
	return &upload{body: req.Body, sized: req.ContentLength > 0, left: req.ContentLength, fail: fail}
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.body.Read(p)
	u.left -= int64(n)
	if u.sized && (u.left < 0 || err == io.EOF && u.left > 0) {
		err = errors.New("the request body does not match Content-Length")
	}
	if err == io.EOF {
		u.over.Store(true)
	} else if err != nil {
		u.fail(err)
	}
	return n, err
}

func (u *upload) Close() (err error) {
	u.closing.Do(func() { err = u.body.Close() })
	return err
}

// A lostError is returned if the connection or the stream ended before a response.
type lostError struct {
	unprocessed bool // the server did not process the request
	fallBack    bool // the server requires TCP
	err         *fetch.Error
}

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

func (x *exchange) explain(err error) error {
	switch {
	case x.ctx.Err() != nil:
		return context.Cause(x.ctx)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &fetch.Error{Code: fetch.ErrProtocol,
			Err: errors.New("the head of the response is truncated")}
	case errors.Is(err, io.EOF), lost(err), !x.wrote.Load():
		code := remoteCode(err)
		return &lostError{
			unprocessed: !x.wrote.Load() || code == http3.ErrCodeRequestRejected ||
				code == http3.ErrCodeVersionFallback,
			fallBack: code == http3.ErrCodeVersionFallback,
			err: &fetch.Error{Code: fetch.ErrNetwork, Retry: true,
				Err: fmt.Errorf("no response: %w", describe(err))},
		}
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
}

func lost(err error) bool {
	var (
		h3           *http3.Error
		transportErr *quic.TransportError
		netErr       net.Error // a timeout, or a stateless reset
	)
	return errors.As(err, &h3) || errors.As(err, &transportErr) ||
		errors.As(err, &netErr) || errors.Is(err, net.ErrClosed)
}

// remoteCode returns the code with which the server reset a stream or closed the connection, or 0.
func remoteCode(err error) http3.ErrCode {
	if h3 := (*http3.Error)(nil); errors.As(err, &h3) && h3.Remote {
		return h3.ErrorCode
	}
	return 0
}

func describe(err error) error {
	var h3 *http3.Error
	var app *quic.ApplicationError
	switch {
	case errors.As(err, &h3) && !h3.Remote:
		return fmt.Errorf("the server violated HTTP/3: %w", h3)
	case errors.As(err, &app):
		return fmt.Errorf("the server closed the connection: %w", err)
	case errors.As(err, &h3):
		return fmt.Errorf("the server reset the stream: %w", h3)
	case errors.Is(err, io.EOF):
		return errors.New("the server closed the stream")
	}
	return err
}

// A responseBody is the body of a response. The exchange ends with it.
type responseBody struct {
	io.ReadCloser
	*exchange
	closed atomic.Bool
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		err = b.broken(err)
		b.ending.Do(b.end)
	}
	return n, err
}

func (b *responseBody) broken(err error) error {
	var netErr net.Error
	switch {
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case b.closed.Load():
		return errClosed
	case b.ctx.Err() != nil:
		return context.Cause(b.ctx)
	case errors.As(err, &netErr) && netErr.Timeout():
		return &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: err}
	case lost(err):
		return &fetch.Error{Code: fetch.ErrTruncated, Retry: true, Err: describe(err)}
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Retry: true, Err: err}
}

// Close discards the rest of the body without waiting for the server. It ends a pending Read.
func (b *responseBody) Close() error {
	b.closed.Store(true)
	err := b.ReadCloser.Close()
	b.ending.Do(b.end)
	return err
}

var errClosed = errors.New("http3: read of a closed body")
