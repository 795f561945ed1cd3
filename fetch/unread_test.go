package fetch

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
)

// unpeekable hides the socket of a connection, as connections of proxies and tests may do.
type unpeekable struct{ net.Conn }

// afterExchange returns a connection, its peer and a writer to the connection, after the connection has
// been read from.
func afterExchange(t *testing.T, version uint16, wrap func(net.Conn) net.Conn) (*Conn, *net.TCPConn, io.Writer) {
	t.Helper()
	client, server := servers.Pair(t)
	c := newConn(wrap(client), time.Minute)
	var peer io.Writer = server
	if version != 0 {
		serverTLS, clientTLS := servers.Certificate()
		clientTLS.ServerName, clientTLS.MaxVersion = "localhost", version
		secure := tls.Server(server, serverTLS)
		go secure.Handshake()
		if err := c.Handshake(t.Context(), clientTLS); err != nil {
			t.Fatal(err)
		}
		peer = secure
	}
	io.WriteString(peer, "hello")
	if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	return c, server, peer
}

// awaitUnread fails the test if c.Unread does not return true. It sleeps between calls,
// so that the kernel or the goroutine that closes c can run.
func awaitUnread(t *testing.T, c *Conn, what string) {
	t.Helper()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	late := time.After(5 * time.Minute)
	for !c.Unread() {
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("%s is not noticed", what)
		}
	}
}

func TestUnread(t *testing.T) {
	t.Parallel()
	for _, socket := range []struct {
		name string
		wrap func(net.Conn) net.Conn
	}{
		{"a socket", func(c net.Conn) net.Conn { return c }},
		{"no socket", func(c net.Conn) net.Conn { return unpeekable{c} }},
	} {
		for name, version := range map[string]uint16{"clear": 0, "TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
			t.Run(socket.name+", "+name, func(t *testing.T) {
				t.Parallel()
				for what, act := range map[string]func(c *Conn, raw *net.TCPConn, peer io.Writer){
					"input": func(_ *Conn, _ *net.TCPConn, peer io.Writer) { io.WriteString(peer, "more") },
					"the end": func(_ *Conn, raw *net.TCPConn, _ io.Writer) {
						raw.Close()
					},
					"a reset": func(_ *Conn, raw *net.TCPConn, _ io.Writer) {
						raw.SetLinger(0)
						raw.Close()
					},
					"closed by us": func(c *Conn, _ *net.TCPConn, _ io.Writer) { c.Abort() },
				} {
					c, raw, peer := afterExchange(t, version, socket.wrap)
					for range 2 {
						if c.Unread() {
							t.Fatalf("before %s: something waits to be read", what)
						}
						io.WriteString(peer, "hello") // the connection still works
						if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
							t.Fatalf("before %s: %v", what, err)
						}
					}
					act(c, raw, peer)
					awaitUnread(t, c, what)
				}
			})
		}
	}
}

// Unread includes input that the TLS layer has already read from the socket.
func TestUnreadInTLS(t *testing.T) {
	t.Parallel()
	c, _, peer := afterExchange(t, tls.VersionTLS13, func(c net.Conn) net.Conn { return c })
	io.WriteString(peer, "one")
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if waits, known := c.peek(); waits || !known {
		t.Fatalf("the socket has more: %t", waits)
	}
	if !c.Unread() {
		t.Error("two bytes are overlooked")
	}
}

func TestUnreadAfterTheContext(t *testing.T) {
	t.Parallel()
	c, _ := pipe(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer c.Bind(ctx)()
	cancel()
	awaitUnread(t, c, "the end of the context")
}
