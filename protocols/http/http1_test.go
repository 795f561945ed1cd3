package http_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestConnectionReuse sends two requests and counts connections and requests.
func TestConnectionReuse(t *testing.T) {
	t.Parallel()
	const (
		ok    = "HTTP/1.1 200 OK\r\n"
		whole = ok + "Content-Length: 2\r\n\r\nab"

		timeoutResponse = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
		keepAlive       = "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nab"
	)
	tests := []struct {
		name         string
		op           fetch.Op
		method       string
		answers      []string // responses on each connection, which is then closed; "" closes it without a response
		closeEarly   bool     // the body of the first response is closed before its end
		conns, asked int32
		lost         fetch.Code // error class of the second request, "" if there is a response
	}{
		{name: "a length", answers: []string{whole, whole, whole}, conns: 1, asked: 2},
		{name: "chunks", answers: []string{ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX: y\r\n\r\n", whole, whole}, conns: 1, asked: 2},
		{name: "behind informational answers", answers: []string{"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + whole, whole, whole}, conns: 1, asked: 2},
		{name: "no content", answers: []string{"HTTP/1.1 204 No Content\r\n\r\n", whole, whole}, conns: 1, asked: 2},
		{name: "content of no bytes", answers: []string{ok + "Content-Length: 0\r\n\r\n", whole, whole}, conns: 1, asked: 2},
		{name: "no content for HEAD", op: fetch.OpStat, answers: []string{ok + "Content-Length: 2\r\n\r\n", ok + "Content-Length: 2\r\n\r\n", whole}, conns: 1, asked: 2},
		{name: "an error page", answers: []string{"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nab", whole, whole}, conns: 1, asked: 2},
		{name: "a body that is left", answers: []string{whole, whole, whole}, closeEarly: true, conns: 2, asked: 2},
		{name: "a server that says that it will close", answers: []string{ok + "Connection: close\r\nContent-Length: 2\r\n\r\nab", whole, whole}, conns: 2, asked: 2},
		{name: "HTTP/1.0", answers: []string{"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", whole, whole}, conns: 2, asked: 2},
		{name: "more than was announced", answers: []string{whole + "c", whole, whole}, conns: 2, asked: 2},
		{name: "more than was announced, like an answer", answers: []string{whole + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nxy", whole, whole}, conns: 2, asked: 2},
		{name: "a server that closes without a word", answers: []string{whole}, conns: 2, asked: 2},
		{name: "a server that closes when it is asked", answers: []string{whole, ""}, conns: 2, asked: 3},
		{name: "a server that closes within its answer", answers: []string{whole, "HTTP/1.1 2"}, conns: 1, asked: 2, lost: fetch.ErrProtocol},
		{name: "a server that gives up waiting when it is asked", answers: []string{whole, timeoutResponse}, conns: 2, asked: 3},
		{name: "HTTP/1.0 that stays", answers: []string{keepAlive, keepAlive, keepAlive}, conns: 1, asked: 2},
		{name: "a length twice", answers: []string{ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab", whole, whole}, conns: 1, asked: 2},
		{name: "a length besides chunks", answers: []string{ok + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", whole, whole}, conns: 1, asked: 2},
		{name: "a server that will close, among others", answers: []string{ok + "Connection: x, Close\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nab", whole, whole}, conns: 2, asked: 2},
		{name: "what cannot be asked twice is refused", method: "PATCH", answers: []string{whole, timeoutResponse}, conns: 1, asked: 2, lost: fetch.ErrBusy},
		{name: "what cannot be asked twice", method: "PATCH", answers: []string{whole, ""}, conns: 1, asked: 2, lost: fetch.ErrNetwork},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var conns, asked atomic.Int32
			u := serveConns(t, func(conn net.Conn) {
				conns.Add(1)
				r := bufio.NewReader(conn)
				for _, answer := range tt.answers {
					if _, err := http.ReadRequest(r); err != nil {
						return
					}
					asked.Add(1)
					io.WriteString(conn, answer)
				}
			})
			c := newClient(t, nil, urlhttp.Options{})
			req := &fetch.Request{URL: uri.MustParse(u + "/"), Op: tt.op, Method: tt.method}
			resp, err := c.Do(t.Context(), req)
			if err == nil {
				if !tt.closeEarly {
					_, err = io.Copy(io.Discard, resp.Body)
				}
				resp.Body.Close()
			}
			if err != nil && fetch.CodeOf(err) != fetch.ErrNotFound {
				t.Fatal(err)
			}
			body, _, err := drive.Do(t, c, req)
			if fetch.CodeOf(err) != tt.lost || err == nil && tt.op == fetch.OpGet && body != "ab" {
				t.Errorf("the second answer: %q, %v", body, err)
			}
			if conns.Load() != tt.conns || asked.Load() != tt.asked {
				t.Errorf("%d connections and %d requests, want %d and %d", conns.Load(), asked.Load(), tt.conns, tt.asked)
			}
		})
	}
}

// TestUnsolicitedResponses sends responses on an idle connection. The client must not use them as
// the response to the next request.
func TestUnsolicitedResponses(t *testing.T) {
	t.Parallel()
	for _, unasked := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nxy", "HTTP/1.1 408 Request Timeout\r\n\r\n", "\r\n"} {
		idle, sent := make(chan struct{}), make(chan struct{})
		var conns atomic.Int32
		u := serveConns(t, func(conn net.Conn) {
			first := conns.Add(1) == 1
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
				return
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab")
			if first {
				<-idle
				io.WriteString(conn, unasked)
				close(sent)
			}
			io.Copy(io.Discard, conn)
		})
		c := newClient(t, nil, urlhttp.Options{})
		drive.Gets(t, c, u, "ab")
		close(idle)
		<-sent
		if body, err := drive.Get(t, c, u); body != "ab" || err != nil || conns.Load() != 2 {
			t.Errorf("after %q: %q, %v, on %d connections", unasked, body, err, conns.Load())
		}
	}
}

// A brittleConn fails all writes except the first. If halved is set, the first one writes only half.
type brittleConn struct {
	net.Conn
	halved bool
	writes int
}

func (c *brittleConn) Write(p []byte) (int, error) {
	if c.writes++; c.writes == 1 {
		return c.Conn.Write(p)
	}
	n := 0
	if c.halved {
		n, _ = c.Conn.Write(p[:len(p)/2])
	}
	c.Conn.Close()
	return n, syscall.ECONNRESET
}

// TestUnsentRequests checks that the client retries a request on another connection if it
// could not be written.
func TestUnsentRequests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, method string
		header       map[string][]string
		halved, lost bool
	}{
		{name: "a POST of which nothing was sent", method: http.MethodPost},
		{name: "a POST of which half was sent", method: http.MethodPost, halved: true, lost: true},
		{name: "a POST with a key against repetition", method: http.MethodPost, halved: true, header: map[string][]string{"Idempotency-Key": {`"x"`}}},
		{name: "a GET of which half was sent", halved: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			u := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				io.WriteString(w, "ab")
			})
			var dialed atomic.Int32
			c := newClient(t, &fetch.Options{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				if dialed.Add(1) > 1 || err != nil {
					return conn, err
				}
				return &brittleConn{Conn: conn, halved: tt.halved}, nil
			}}, urlhttp.Options{})
			req := &fetch.Request{URL: uri.MustParse(u + "/"), Method: tt.method, Header: tt.header}
			if _, _, err := drive.Do(t, c, req); err != nil {
				t.Fatal(err)
			}
			body, _, err := drive.Do(t, c, req)
			if tt.lost {
				if e := asError(t, err); e.Retry || asked.Load() != 1 {
					t.Errorf("%v (retry %v), after %d requests", e, e.Retry, asked.Load())
				}
			} else if err != nil || body != "ab" || asked.Load() != 2 || dialed.Load() != 2 {
				t.Errorf("%q, %v, after %d requests on %d connections", body, err, asked.Load(), dialed.Load())
			}
		})
	}
}

// TestEarlyRefusals checks a server that refuses a long request before it has read all of it,
// and closes the connection.
func TestEarlyRefusals(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("what came before a reset may be lost")
	}
	u := serveConns(t, func(conn net.Conn) {
		io.ReadFull(conn, make([]byte, 1<<10))
		io.WriteString(conn, "HTTP/1.1 431 Too Large\r\nContent-Length: 0\r\n\r\n")
	})
	req := &fetch.Request{URL: uri.MustParse(u + "/"), Header: map[string][]string{"X": {strings.Repeat("x", 32<<20)}}}
	_, _, err := drive.Do(t, newClient(t, nil, urlhttp.Options{}), req)
	if e := asError(t, err); e.Reply.Code != http.StatusRequestHeaderFieldsTooLarge {
		t.Error(err)
	}
}

// TestDataAfterResponse sends data after a response. The client must close the connection.
func TestDataAfterResponse(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", "HTTP/1.1 204 No Content\r\n\r\nabc"} {
		closed := make(chan struct{})
		u := respondWith(t, func(conn net.Conn) {
			io.WriteString(conn, answer)
			io.Copy(io.Discard, conn)
			close(closed)
		})
		drive.MustGet(t, newClient(t, nil, urlhttp.Options{}), u)
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Fatalf("%q: the connection is kept", answer)
		}
	}
}

// TestOneWaitForASilentServer uses a connection whose server has become silent. Each further connection
// would take as long.
func TestOneWaitForASilentServer(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	u := serveConns(t, func(conn net.Conn) {
		r := bufio.NewReader(conn)
		for {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			if asked.Add(1) == 1 {
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab")
			}
		}
	})
	c := newClient(t, &fetch.Options{Timeouts: fetch.Timeouts{Reply: time.Second}}, urlhttp.Options{})
	drive.Gets(t, c, u+"/", "ab")
	drive.Fails(t, c, u+"/", fetch.ErrNetwork)
	if asked.Load() != 2 {
		t.Errorf("%d requests, want 2", asked.Load())
	}
}
