package http_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestBodyOutlivesClient reads a body of a client that is closed, and sees the connection go when
// the body does.
func TestBodyOutlivesClient(t *testing.T) {
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

// TestIdleConnectionsAreBounded has many connections to one host at once, and keeps few of them.
func TestIdleConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const at, kept = 20, 16
	var here sync.WaitGroup
	here.Add(at)
	closed := make(chan struct{}, at)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		here.Done()
		here.Wait() // so that each has a connection of its own
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
			if _, _, err := get(t, c, srv.URL); err != nil {
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
