package http_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
)

// A memoryNetwork connects clients to one server without sockets, so that both can run in a bubble of
// testing/synctest. Connections have no buffers.
type memoryNetwork struct {
	conns chan net.Conn
	ended chan struct{}
	close func()
}

func newMemoryNetwork() *memoryNetwork {
	ended := make(chan struct{})
	return &memoryNetwork{make(chan net.Conn), ended, sync.OnceFunc(func() { close(ended) })}
}

// options returns options with the network.
func (n *memoryNetwork) options(o fetch.Options) *fetch.Options {
	o.DialContext = n.dial
	return &o
}

func (n *memoryNetwork) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case n.conns <- far:
		return near, nil
	case <-n.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve calls f for each connection until the test ends, and closes the connection afterwards.
func (n *memoryNetwork) serve(t testing.TB, f func(net.Conn)) {
	var all sync.WaitGroup
	t.Cleanup(func() {
		n.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := n.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				f(conn)
			})
		}
	})
}

// Accept, Close and Addr implement net.Listener.
func (n *memoryNetwork) Accept() (net.Conn, error) {
	select {
	case conn := <-n.conns:
		return conn, nil
	case <-n.ended:
		return nil, net.ErrClosed
	}
}

func (n *memoryNetwork) Close() error {
	n.close()
	return nil
}

func (n *memoryNetwork) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
