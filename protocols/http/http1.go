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
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/responsehead"
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
		Conn:  func(c *http1Conn) (*fetch.Conn, int) { return c.plain.Conn, 0 },
		Asks:  true,
		Close: func(c *http1Conn) { c.plain.Close() },
	})}
}

// send sends the request of ex and reads the head of the response.
func (h *http1) send(ex *exchange, rec *record) error {
	ctx, req := ex.ctx, &ex.request
	for name, values := range req.Header {
		if err := httphead.CheckSyntax(name, values); err != nil {
			return err
		}
	}
	if rec != nil && rec.exchange.Line != nil {
		req = req.WithContext(httptrace.WithClientTrace(ctx,
			&httptrace.ClientTrace{WroteHeaderField: rec.wroteField}))
	}
	ex.sent = rec.follow(req, ex.target)
	addr := address(req)
	ex.target.unsent = true
	for {
		closings := h.driver.closings.Load()
		lease, err := h.conns.Get(ctx, addr, nil, func(ctx context.Context) (*http1Conn, error) {
			return h.dial(ctx, addr)
		})
		if err != nil {
			return err
		}
		x := &ex.alone
		*x = http1Exchange{ex: ex, rec: rec, driver: h.driver, closings: closings, lease: lease}
		if err = x.do(); err == nil {
			return nil
		}
		lease.Discard()
		if !x.lost || lease.Conn.sent && !isRepeatable(ex.sent) || ctx.Err() != nil {
			return err
		}
	}
}

func (h *http1) dial(ctx context.Context, addr string) (*http1Conn, error) {
	conn, err := h.driver.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &http1Conn{plain: &plainConn{Conn: conn}}
	c.send = func() error { return c.exchange.send() }
	return c, nil
}

// address returns the host and port to connect to. Package uri has converted international names to
// ASCII.
func address(req *http.Request) string {
	if req.URL.Port() != "" {
		return req.URL.Host
	}
	return net.JoinHostPort(req.URL.Hostname(), "80")
}

// An http1Conn is a connection that serves one request at a time.
type http1Conn struct {
	plain    *plainConn
	r        *bufio.Reader  // nil until input has arrived or is waited for
	exchange *http1Exchange // the current one
	send     func() error   // sends its request
	left     int64          // bytes that may still be received before the head of the response ends
	sent     bool           // part of the request was written
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

var (
	writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, writeBuffer) }}
	readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, headBuffer) }}
)

// open provides the reader. Idle connections, and those that wait for a response, have none.
func (c *http1Conn) open() {
	if c.r == nil {
		c.r = readers.Get().(*bufio.Reader)
		c.r.Reset(c)
	}
}

// rest gives the reader back.
func (c *http1Conn) rest() {
	c.r.Reset(nil)
	readers.Put(c.r)
	c.r, c.exchange = nil, nil
}

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
	ex       *exchange
	rec      *record
	driver   *opener
	closings int64 // value of opener.closings when the exchange began
	lease    *driver.Lease[string, *http1Conn]
	lost     bool // the connection was reused and has received nothing
	keep     bool // the connection can be reused after the response
	ended    bool // the response has been read
	resp     http.Response
	body     http1Body
}

// conn returns the connection, or nil.
func (x *http1Exchange) conn() net.Conn {
	if x.lease == nil {
		return nil
	}
	return x.lease.Conn.plain
}

// send writes the request.
func (x *http1Exchange) send() error {
	ex, c := x.ex, x.lease.Conn
	if x.rec != nil { // before Bind, which would record without a mask
		x.rec.connected(httptrace.GotConnInfo{Conn: c.plain, Reused: x.lease.Reused})
	}
	x.lease.Bind(ex.ctx)
	timeouts := x.driver.env.Timeouts()
	c.plain.SetIdle(idleOfConn(timeouts)) // a body may have had another
	c.plain.in.begin(ex.req.Relay)
	if timeouts.Reply > 0 {
		c.plain.SetDeadline(time.Now().Add(timeouts.Reply))
	}
	ex.target.unsent = false
	return c.write(ex.sent)
}

func (x *http1Exchange) do() error {
	ex, c := x.ex, x.lease.Conn
	timeouts := x.driver.env.Timeouts()
	x.lost = x.lease.Reused
	c.exchange, c.left, c.sent = x, maxHeader, false
	end := x.lease.Await()
	sent, failed := c.plain.Ask(c.send)
	switch {
	case sent:
	case x.lost:
		failed = errIdleClosed
	default: // a server may send an error at once
		failed = c.send()
	}
	err := failed
	if failed == nil || !x.lost && isClosedByPeer(failed) {
		c.open()
		// A server that has not read the complete request may send the reason.
		_, err = c.r.Peek(1)
	}
	end(err == nil)
	if err != nil {
		return x.late(cmp.Or(failed, err), timeouts.Reply)
	}
	x.lost = false
	req := ex.sent
	resp, err := x.readHead(ex.ctx, req)
	if err != nil {
		return x.late(err, timeouts.Reply)
	}
	if x.lease.Reused && resp.StatusCode == http.StatusRequestTimeout && resp.Close && isRepeatable(req) {
		// The server closed the idle connection when this request arrived.
		x.lost = true
		return errIdleClosed
	}
	if c.left = math.MaxInt64; timeouts.Reply > 0 {
		c.plain.SetDeadline(time.Time{})
	}
	x.keep = failed == nil && !resp.Close && !req.Close && resp.StatusCode >= 200
	if ex.resp = resp; req.Method == http.MethodHead || resp.ContentLength == 0 {
		x.end()
	} else {
		x.body.src, x.body.exchange = resp.Body, x
		resp.Body = &x.body
	}
	return nil
}

// readHead reads the head of a response, in place if it has arrived and is a usual one.
func (x *http1Exchange) readHead(ctx context.Context, req *http.Request) (*http.Response, error) {
	r := x.lease.Conn.r
	if p, _ := r.Peek(r.Buffered()); req.Method == http.MethodGet {
		if n := responsehead.Read(p, &x.resp); n > 0 {
			r.Discard(n)
			x.resp.Request, x.resp.Body, x.body.left = req, http.NoBody, x.resp.ContentLength
			return &x.resp, nil
		}
	}
	return httphead.ReadResponse(r, req.WithContext(ctx)) // with the caller's trace
}

// late returns the error for a wait that ended before the head of the response. After a timeout, another
// connection would take as long.
func (x *http1Exchange) late(err error, limit time.Duration) error {
	_, idle := errors.AsType[*wire.TimeoutError](err)
	switch {
	case idle:
		x.lost = false
	case limit > 0 && errors.Is(err, os.ErrDeadlineExceeded):
		x.lost = false
		return noResponse(limit)
	}
	return err
}

var errIdleClosed = errors.New("the server closed the idle connection")

func isClosedByPeer(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// end is called when the response has been read.
func (x *http1Exchange) end() {
	if x.ended {
		return // others may use the connection
	}
	x.ended = true
	c := x.lease.Conn
	keep := x.keep && c.r.Buffered() == 0 && !c.plain.in.hasBuffered() &&
		x.driver.closings.Load() == x.closings
	c.rest()
	if keep {
		x.lease.Put()
	} else {
		x.lease.Discard()
	}
}

// An http1Body is the body of a response. Close before its end closes the connection.
type http1Body struct {
	src      io.Reader // http.NoBody for a body that is read from the connection, with a length
	left     int64     // of such a body
	exchange *http1Exchange
}

func (b *http1Body) Read(p []byte) (n int, err error) {
	if b.left > 0 {
		n, err = b.exchange.lease.Conn.r.Read(p[:min(int64(len(p)), b.left)])
		if b.left -= int64(n); b.left == 0 {
			err = io.EOF
		} else if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
	} else {
		n, err = b.src.Read(p)
	}
	if err == io.EOF {
		b.exchange.end()
	} else if err != nil {
		b.exchange.lease.Discard()
	}
	return n, err
}

// received returns the rest of a body that has arrived completely, until the call of end.
func (b *http1Body) received() []byte {
	if b.left == 0 {
		return nil
	}
	r := b.exchange.lease.Conn.r
	if b.left > int64(r.Buffered()) {
		return nil
	}
	p, _ := r.Peek(int(b.left))
	return p
}

func (b *http1Body) end() {
	b.exchange.lease.Conn.r.Discard(int(b.left))
	b.left = 0
	b.exchange.end()
}

func (b *http1Body) Close() error {
	b.exchange.lease.Discard()
	return nil
}
