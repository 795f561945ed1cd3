package http_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestBodyAfterClientClose reads a body after the client is closed. The connection ends with the
// body.
func TestBodyAfterClientClose(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		closed := make(chan struct{}, 1)
		more := make(chan struct{})
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "begin ")
			http.NewResponseController(w).Flush()
			<-more
			io.WriteString(w, "end")
		}))
		srv.EnableHTTP2 = http2
		srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateClosed {
				closed <- struct{}{}
			}
		}
		srv.StartTLS()
		t.Cleanup(srv.Close)

		c := fetch.New(&fetch.Options{TLS: trust(srv)}, urlhttp.Load)
		resp, err := c.Get(t.Context(), srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		close(more)
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "begin end" {
			t.Errorf("HTTP/2 %v: %q, %v", http2, got, err)
		}
		resp.Body.Close()
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Fatalf("HTTP/2 %v: the connection is left open", http2)
		}
	}
}

// TestIdleConnectionsAreBounded opens many connections to one host and checks that few are kept.
func TestIdleConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const at, kept = 20, 16
	var here sync.WaitGroup
	here.Add(at)
	closed := make(chan struct{}, at)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		here.Done()
		here.Wait() // so that each uses its own connection
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- struct{}{}
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	c := newClient(t, nil, urlhttp.Options{})
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			if _, err := drive.Get(t, c, srv.URL); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for range at - kept {
		<-closed
	}
	select {
	case <-closed:
		t.Errorf("fewer than %d connections are kept", kept)
	default:
	}
}

// A readConn reports reads.
type readConn struct {
	net.Conn
	reads chan struct{}
}

func (c *readConn) Read(p []byte) (int, error) {
	c.reads <- struct{}{}
	return c.Conn.Read(p)
}

// TestCloseInterruptsRead closes bodies while another goroutine reads them. That is not a
// network failure, for which another try would help.
func TestCloseInterruptsRead(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, answer := range map[string]string{
		"a length":        ok + "Content-Length: 10\r\n\r\n",
		"chunks":          ok + "Transfer-Encoding: chunked\r\n\r\n",
		"until the close": ok + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reads := make(chan struct{}, 1)
			c := newClient(t, &fetch.Options{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				return &readConn{conn, reads}, err
			}}, urlhttp.Options{})
			resp, err := c.Get(t.Context(), raw(t, answer, true))
			if err != nil {
				t.Fatal(err)
			}
			<-reads // of the head
			done := make(chan error)
			go func() {
				_, err := io.ReadAll(resp.Body)
				done <- err
			}()
			<-reads
			resp.Body.Close()
			if e := asError(t, <-done); e.Code != fetch.ErrInterrupted || e.Retry {
				t.Errorf("%v (retry %v), want class %q", e, e.Retry, fetch.ErrInterrupted)
			}
		})
	}
}
