package http

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"syscall"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/protocols/internal/httphead"
)

// http1 sends requests without a body over HTTP/1.1 to servers without TLS. It works in the
// goroutine of the caller. A Transport of net/http has two goroutines per connection; passing
// requests and responses between them takes longer than writing and reading them.
type http1 struct {
	driver *opener
	conns  *driver.Pool[string, *http1Conn] // by host and port
}

func newHTTP1(d *opener) *http1 {
	return &http1{driver: d, conns: driver.NewPool[string](d.env, driver.PoolOptions[*http1Conn]{
		MaxIdle: max(d.MaxIdle, maxIdleConns), IdleTimeout: idleTime,
		Conn:  func(c *http1Conn) (*fetch.Conn, int) { return c.plain.Conn, c.r.Buffered() },
		Close: func(c *http1Conn) { c.plain.Close() },
	})}
}

func (h *http1) canSend(req *http.Request) bool {
	return req.URL.Scheme == "http" && (req.Body == nil || req.Body == http.NoBody)
}

func (h *http1) RoundTrip(req *http.Request) (*http.Response, error) {
	for name, values := range req.Header {
		if err := httphead.CheckSyntax(name, values); err != nil {
			return nil, err
		}
	}
	ctx, addr := req.Context(), address(req)
	for {
		closings := h.driver.closings.Load()
		lease, err := h.conns.Get(ctx, addr, nil, func(ctx context.Context) (*http1Conn, error) {
			return h.dial(ctx, addr)
		})
		if err != nil {
			return nil, err
		}
		x := &http1Exchange{driver: h.driver, closings: closings, lease: lease}
		resp, err := x.do(req)
		if err == nil {
			return resp, nil
		}
		lease.Discard()
		if !x.lost || lease.Conn.sent && !isRepeatable(req) || ctx.Err() != nil {
			return nil, err
		}
	}
}

func (h *http1) dial(ctx context.Context, addr string) (*http1Conn, error) {
	conn, err := h.driver.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &http1Conn{plain: &plainConn{Conn: conn}}
	c.r = bufio.NewReaderSize(c, readBuffer)
	return c, nil
}

// address returns the host and port to connect to. Package uri has converted international names to
// ASCII.
func address(req *http.Request) string {
	return net.JoinHostPort(req.URL.Hostname(), cmp.Or(req.URL.Port(), "80"))
}

// An http1Conn is a connection that serves one request at a time.
type http1Conn struct {
	plain *plainConn
	r     *bufio.Reader
	left  int64 // bytes that may still be received before the head of the response ends
	sent  bool  // part of the request was written
}

func (c *http1Conn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, fmt.Errorf("the head of the response exceeds %d bytes", maxHeader)
	}
	n, err := c.plain.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

func (c *http1Conn) Write(p []byte) (int, error) {
	n, err := c.plain.Write(p)
	c.sent = c.sent || n > 0
	return n, err
}

var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, writeBuffer) }}

func (c *http1Conn) write(req *http.Request) error {
	w := writers.Get().(*bufio.Writer)
	w.Reset(c)
	defer func() {
		w.Reset(nil)
		writers.Put(w)
	}()
	if err := writeHead(w, req); err != nil {
		return err
	}
	return w.Flush()
}

type http1Exchange struct {
	driver   *opener
	closings int64 // value of opener.closings when the exchange began
	lease    *driver.Lease[string, *http1Conn]
	lost     bool // the connection was reused and has received nothing
	keep     bool // the connection can be reused after the response
}

func (x *http1Exchange) do(req *http.Request) (*http.Response, error) {
	c := x.lease.Conn
	x.lost = x.lease.Reused
	x.lease.Bind(req.Context())
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: c.plain, Reused: x.lease.Reused})
	}
	c.left, c.sent = maxHeader, false
	failed := c.write(req)
	if failed != nil && (x.lost || !isClosedByPeer(failed)) {
		return nil, failed
	}
	// A server that has not read the complete request may send the reason.
	end := x.lease.Await()
	_, err := c.r.Peek(1)
	end(err == nil)
	if err != nil {
		return nil, cmp.Or(failed, err)
	}
	x.lost = false
	resp, err := httphead.ReadResponse(c.r, req)
	if err != nil {
		return nil, err
	}
	if x.lease.Reused && resp.StatusCode == http.StatusRequestTimeout && resp.Close && isRepeatable(req) {
		// The server closed the idle connection when this request arrived.
		x.lost = true
		return nil, errIdleClosed
	}
	c.left = math.MaxInt64
	x.keep = failed == nil && !resp.Close && !req.Close && resp.StatusCode >= 200
	if req.Method == http.MethodHead || resp.ContentLength == 0 {
		x.end()
	} else {
		resp.Body = &http1Body{src: resp.Body, exchange: x}
	}
	return resp, nil
}

var errIdleClosed = errors.New("the server closed the idle connection")

func isClosedByPeer(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

func (x *http1Exchange) end() {
	if x.keep && x.lease.Conn.r.Buffered() == 0 && x.driver.closings.Load() == x.closings {
		x.keep = false // a second call must not touch a connection that others use
		x.lease.Put()
	} else {
		x.lease.Discard()
	}
}

// An http1Body is the body of a response. Close before its end closes the connection.
type http1Body struct {
	src      io.Reader
	exchange *http1Exchange
}

func (b *http1Body) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	if err == io.EOF {
		b.exchange.end()
	} else if err != nil {
		b.exchange.lease.Discard()
	}
	return n, err
}

func (b *http1Body) Close() error {
	b.exchange.lease.Discard()
	return nil
}
