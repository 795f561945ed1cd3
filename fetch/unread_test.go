package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch/driver/wire"
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

var unreadSockets = []struct {
	name string
	wrap func(net.Conn) net.Conn
}{
	{"a socket", func(c net.Conn) net.Conn { return c }},
	{"no socket", func(c net.Conn) net.Conn { return unpeekable{c} }},
}

func TestUnread(t *testing.T) {
	t.Parallel()
	for _, socket := range unreadSockets {
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

// TestAsk sends requests with Ask. Input before one, which would be taken for its reply, prevents it, and a
// reply of any delay is waited for.
func TestAsk(t *testing.T) {
	t.Parallel()
	for _, socket := range unreadSockets {
		t.Run(socket.name, func(t *testing.T) {
			t.Parallel()
			c, raw, peer := afterExchange(t, 0, socket.wrap)
			buf := make([]byte, 5)
			ask := func() error {
				_, err := io.WriteString(c, "hello")
				return err
			}
			for range 100 {
				go func() {
					if _, err := io.ReadFull(raw, make([]byte, 5)); err == nil {
						io.WriteString(peer, "reply")
					}
				}()
				if sent, err := c.Ask(ask); !sent || err != nil {
					t.Fatal(sent, err)
				}
				if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "reply" {
					t.Fatalf("%q, %v", buf, err)
				}
			}
			failure := errors.New("no request")
			if sent, err := c.Ask(func() error { return failure }); !sent || err != failure {
				t.Error(sent, err)
			}
			io.WriteString(peer, "unsolicited")
			awaitInput(t, c)
			if sent, err := c.Ask(func() error { t.Error("it was sent"); return nil }); sent || err != nil {
				t.Error(sent, err)
			}
		})
	}
}

func awaitInput(t *testing.T, c *Conn) {
	t.Helper()
	if socket, ok := c.conn.(*net.TCPConn); ok {
		raw, err := socket.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Read(func(uintptr) bool { return c.HasInput() }); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAskUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	c, _, _ := afterExchange(t, 0, func(c net.Conn) net.Conn { return c })
	ctx, cancel := context.WithCancelCause(t.Context())
	defer c.Bind(ctx)()
	gone := errors.New("gone")
	sent, err := c.Ask(func() error {
		cancel(gone)
		return nil
	})
	if !sent || !errors.Is(err, gone) {
		t.Error(sent, err)
	}
}

func TestAskTimesOut(t *testing.T) {
	t.Parallel()
	c, _, _ := afterExchange(t, 0, func(c net.Conn) net.Conn { return c })
	sent, err := c.Ask(func() error {
		if _, err := io.WriteString(c, "hello"); err != nil {
			return err
		}
		c.SetIdle(time.Millisecond)
		return c.armRead()
	})
	silence, ok := errors.AsType[*wire.TimeoutError](err)
	if !sent || !ok || silence.Op != "read" || silence.Awaited != "reply" {
		t.Errorf("%t, %#v", sent, err)
	}
}
