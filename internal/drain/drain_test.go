package drain

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose clients are in the same process.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// ask sends a request, and returns the connection and the response.
func (l *pipes) ask(t *testing.T) (net.Conn, *http.Response) {
	near, far := net.Pipe()
	l.conns <- far
	io.WriteString(near, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(near), nil)
	if err != nil {
		t.Fatal(err)
	}
	return near, resp
}

// What a handler does after the client has its whole answer is done, although the server is stopped then.
func TestHandlersFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		l, finished := newPipes(), false
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "2")
			io.WriteString(w, "ok")
			http.NewResponseController(w).Flush()
			<-ctx.Done()
			time.Sleep(grace / 2)
			finished = r.Context().Err() == nil
		})}
		served := make(chan error)
		go func() { served <- Serve(ctx, server, l) }()
		conn, resp := l.ask(t)
		defer conn.Close()
		if body, err := io.ReadAll(resp.Body); string(body) != "ok" || err != nil {
			t.Fatalf("%q, %v", body, err)
		}
		began := time.Now()
		stop()
		if err := <-served; err != nil || !finished {
			t.Errorf("finished: %v, %v", finished, err)
		}
		if took := time.Since(began); took != grace/2 {
			t.Errorf("it took %v", took)
		}
	})
}

// A server stops in spite of handlers that have no end, and at once if they use Until or are idle.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		handle func(r *http.Request, forever <-chan struct{})
		took   time.Duration
	}{
		"idle": {func(*http.Request, <-chan struct{}) {}, 0},
		"a tunnel": {func(r *http.Request, _ <-chan struct{}) {
			ctx, cancel := Until(r.Context())
			defer cancel()
			<-ctx.Done()
		}, 0},
		"a long download":             {func(r *http.Request, _ <-chan struct{}) { <-r.Context().Done() }, grace},
		"a handler without a context": {func(_ *http.Request, forever <-chan struct{}) { <-forever }, 2 * grace},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				l, forever := newPipes(), make(chan struct{})
				defer close(forever)
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Length", "0")
					http.NewResponseController(w).Flush()
					tt.handle(r, forever)
				})}
				served := make(chan error)
				go func() { served <- Serve(ctx, server, l) }()
				conn, _ := l.ask(t)
				defer conn.Close()
				synctest.Wait()
				began := time.Now()
				stop()
				if err := <-served; err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// While the server stops, a further request on a connection that is in use is refused.
func TestNewRequestsAreRefused(t *testing.T) {
	t.Parallel()
	h := &handlers{next: http.NotFoundHandler()}
	h.wait()
	if h.enter() {
		t.Error("a request was served")
	}
}

// The error of the listener is returned if the server was not stopped.
func TestListenerErrors(t *testing.T) {
	t.Parallel()
	l := newPipes()
	l.Close()
	if err := Serve(t.Context(), &http.Server{Handler: http.NotFoundHandler()}, l); err != net.ErrClosed {
		t.Error(err)
	}
}
