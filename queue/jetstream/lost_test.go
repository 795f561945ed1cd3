package jetstream_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// A faultyRoute carries connections to a server. If it is lossy, it loses the next request, and ends its
// connection.
type faultyRoute struct {
	addr  string
	lossy atomic.Bool
	lost  atomic.Int64
}

func newFaultyRoute(t *testing.T, to string) *faultyRoute {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	r := &faultyRoute{addr: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, s)
			}()
			go func() {
				defer s.Close()
				defer c.Close()
				r.carry(s, c)
			}()
		}
	}()
	return r
}

func (r *faultyRoute) carry(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], []byte("PUB ")) && r.lossy.CompareAndSwap(true, false) {
			r.lost.Add(1)
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestLostConnectionEndsItsRequests cuts the connection of a request whose response will never come. The
// request is repeated then, and not after the time that a server has for its response.
func TestLostConnectionEndsItsRequests(t *testing.T) {
	t.Parallel()
	s := startLibrary(t, withJetStream(t, ""))
	route := newFaultyRoute(t, s.url[len("nats://"):])
	opts := jetstream.Options{URL: "nats://" + route.addr, Name: "lost"}
	jetstream.WaitLong(&opts, patience)
	jetstream.SetupWithin(&opts, patience)
	ctx, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()

	route.lossy.Store(true)
	e, err := jetstream.Open(ctx, opts)
	if err != nil {
		t.Fatal("Open:", err)
	}
	defer e.Close()

	route.lossy.Store(true)
	_, err = e.Status(ctx)
	if fetch.CodeOf(err) != fetch.ErrNetwork || ctx.Err() != nil {
		t.Errorf("Status: %v, want a network failure", err)
	}
	if _, err := e.Status(ctx); err != nil {
		t.Error("Status on the next connection:", err)
	}

	route.lossy.Store(true)
	_, duplicate, err := queue.Submit(ctx, e, queue.Normal, &job.Job{URL: uri.MustParse("data:,lost")})
	if err != nil || duplicate || route.lost.Load() != 3 {
		t.Errorf("Submit: duplicate %v, %v, %d losses", duplicate, err, route.lost.Load())
	}
}
