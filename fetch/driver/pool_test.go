package driver

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

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
				Conn:  func(k *pooledConn) (*Conn, int) { return k.conn, 0 },
				Valid: func(*pooledConn) bool { return valid },
				Close: func(k *pooledConn) { closed++; k.conn.Close() }})
			dial := func(context.Context) (*pooledConn, error) {
				client, _ := servers.Pair(t)
				return &pooledConn{conn: newConn(client, 0)}, nil
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
			Conn: func(k *pooledConn) (*Conn, int) {
				if expects {
					return nil, 0
				}
				return k.conn, 0
			},
			Close: func(k *pooledConn) { k.conn.Close() }})
		dial := func(context.Context) (*pooledConn, error) { return &pooledConn{conn: newConn(client, 0)}, nil }
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
			for !first.Conn.conn.waits() {
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
	for _, version := range []uint16{0, tls.VersionTLS13} {
		conn, peer, _ := afterExchange(t, version, func(c net.Conn) net.Conn { return c })
		if _, known := peek(conn.socket()); !known {
			t.Skip("sockets cannot be polled")
		}
		gone := (&PoolOptions[*pooledConn]{Conn: func(k *pooledConn) (*Conn, int) { return k.conn, 0 }}).closedByPeer()
		if gone(&pooledConn{conn: conn}) {
			t.Error("the connection is there")
		}
		peer.Close()
		for !gone(&pooledConn{conn: conn}) {
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
