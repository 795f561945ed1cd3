package driver

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
)

func TestPutKeepsValidConnections(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		act   func(cancel func(), valid *bool, l *Lease[string, *pooledConn])
		reuse bool
	}{
		"a conversation at rest":        {func(func(), *bool, *Lease[string, *pooledConn]) {}, true},
		"a conversation that is broken": {func(_ func(), valid *bool, _ *Lease[string, *pooledConn]) { *valid = false }, false},
		"a context that ended":          {func(cancel func(), _ *bool, _ *Lease[string, *pooledConn]) { cancel() }, false},
		"a lease that was discarded":    {func(_ func(), _ *bool, l *Lease[string, *pooledConn]) { l.Discard() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			valid, closed := true, 0
			p := NewPool[string](noScope{}, PoolOptions[*pooledConn]{MaxIdle: 1, MaxOpen: 1,
				Conn:  func(k *pooledConn) (*fetch.Conn, int) { return k.conn, 0 },
				Valid: func(*pooledConn) bool { return valid },
				Close: func(k *pooledConn) { closed++; k.conn.Close() }})
			dial := func(context.Context) (*pooledConn, error) {
				client, _ := servers.Pair(t)
				return &pooledConn{conn: fetch.NewConn(context.Background(), client, fetch.Timeouts{})}, nil
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first, err := p.Get(ctx, "", nil, dial)
			if err != nil {
				t.Fatal(err)
			}
			first.Bind(ctx)
			tt.act(cancel, &valid, first)
			first.Put()
			first.Discard() // has no effect
			valid = true
			if (closed == 0) != tt.reuse {
				t.Errorf("%d connections are closed", closed)
			}
			cancel() // has no effect after Put
			second, err := p.Get(t.Context(), "", nil, dial)
			if err != nil {
				t.Fatal(err)
			}
			defer second.Discard()
			if second.Reused != tt.reuse {
				t.Errorf("reused %t, want %t", second.Reused, tt.reuse)
			}
		})
	}
}

// A connection that expects input is reused although it has some.
func TestPoolKeepsConnectionsThatExpectInput(t *testing.T) {
	t.Parallel()
	for _, expects := range []bool{false, true} {
		client, server := servers.Pair(t)
		p := NewPool[string](noScope{}, PoolOptions[*pooledConn]{MaxIdle: 1, MaxOpen: 1,
			Conn: func(k *pooledConn) (*fetch.Conn, int) {
				if expects {
					return nil, 0
				}
				return k.conn, 0
			},
			Close: func(k *pooledConn) { k.conn.Close() }})
		dial := func(context.Context) (*pooledConn, error) {
			return &pooledConn{conn: fetch.NewConn(context.Background(), client, fetch.Timeouts{})}, nil
		}
		first, err := p.Get(t.Context(), "", nil, dial)
		if err != nil {
			t.Fatal(err)
		}
		first.Put()
		server.Write([]byte("226\r\n"))
		if gone := p.opts.closedByPeer(); expects && gone(first.Conn) {
			t.Error("taken for closed")
		}
		if !expects {
			for !first.Conn.conn.HasInput() {
				if t.Context().Err() != nil {
					t.Fatal("no input")
				}
			}
		}
		second, err := p.Get(t.Context(), "", nil, dial)
		if err != nil {
			t.Fatal(err)
		}
		if second.Reused != expects {
			t.Errorf("reused %t, want %t", second.Reused, expects)
		}
		second.Discard()
	}
}

// A pool detects without waiting that the peer has closed an idle connection.
func TestPoolDetectsClosedPeer(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		client, server := servers.Pair(t)
		conn := fetch.NewConn(t.Context(), client, fetch.Timeouts{})
		if secure {
			serverTLS, clientTLS := servers.Certificate()
			clientTLS.ServerName = "localhost"
			go tls.Server(server, serverTLS).Write([]byte("220"))
			if err := conn.Handshake(t.Context(), clientTLS); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(conn, make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
		}
		gone := (&PoolOptions[*pooledConn]{
			Conn: func(k *pooledConn) (*fetch.Conn, int) { return k.conn, 0 },
		}).closedByPeer()
		if gone(&pooledConn{conn: conn}) {
			t.Error("the connection is there")
		}
		server.Close()
		for !gone(&pooledConn{conn: conn}) {
			if runtime.GOOS != "linux" {
				t.Skip("peek requires Linux: other systems cannot poll a socket")
			}
			if t.Context().Err() != nil {
				t.Fatal("not noticed")
			}
		}
		conn.Close()
	}
	if (&PoolOptions[*pooledConn]{}).closedByPeer() != nil {
		t.Error("looks at what it does not know")
	}
}

// noScope is the Env of a client without proxies.
type noScope struct{ fetch.Env }

func (noScope) Scope(context.Context) string              { return "" }
func (noScope) Proxy(context.Context) (u uri.URI, _ bool) { return }

// A pooledConn is a pooled connection and the number of bytes its driver has read ahead.
type pooledConn struct {
	conn  *fetch.Conn
	ahead int
}

func TestPoolsDropConnectionsWithInput(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		act   func(k *pooledConn, peer *net.TCPConn)
		reuse bool
	}{
		"nothing came":             {func(*pooledConn, *net.TCPConn) {}, true},
		"something came":           {func(_ *pooledConn, peer *net.TCPConn) { io.WriteString(peer, "226 again\r\n") }, false},
		"something was read ahead": {func(k *pooledConn, _ *net.TCPConn) { k.ahead = 11 }, false},
		"the peer has gone":        {func(_ *pooledConn, peer *net.TCPConn) { peer.Close() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var peer *net.TCPConn
			closed := 0
			p := NewPool[string](noScope{}, PoolOptions[*pooledConn]{MaxIdle: 1, MaxOpen: 1,
				Conn:  func(k *pooledConn) (*fetch.Conn, int) { return k.conn, k.ahead },
				Close: func(k *pooledConn) { closed++; k.conn.Close() }})
			dial := func(context.Context) (*pooledConn, error) {
				client, server := servers.Pair(t)
				peer = server
				return &pooledConn{conn: fetch.NewConn(context.Background(), client, fetch.Timeouts{})}, nil
			}
			first, err := p.Get(t.Context(), "", nil, dial)
			if err != nil {
				t.Fatal(err)
			}
			first.Put()
			tt.act(first.Conn, peer)
			for !tt.reuse && first.Conn.ahead == 0 && !first.Conn.conn.Unread() { // until the input arrives
			}
			second, err := p.Get(t.Context(), "", nil, dial)
			if err != nil {
				t.Fatal(err)
			}
			if reused := second.Conn == first.Conn; reused != tt.reuse || second.Reused != tt.reuse || (closed == 0) != tt.reuse {
				t.Errorf("reused %t, want %t; %d closed", reused, tt.reuse, closed)
			}
			second.Discard()
		})
	}
}

func TestReuseAllocatesOnlyTheLease(t *testing.T) {
	p := NewPool[string](noScope{}, PoolOptions[*pooledConn]{MaxIdle: 1, IdleTimeout: time.Minute,
		Close: func(*pooledConn) {}})
	defer p.CloseIdle()
	dial := func(context.Context) (*pooledConn, error) { return &pooledConn{}, nil }
	if n := testing.AllocsPerRun(100, func() {
		l, err := p.Get(t.Context(), "host:80", nil, dial)
		if err != nil {
			t.Fatal(err)
		}
		l.Put()
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
