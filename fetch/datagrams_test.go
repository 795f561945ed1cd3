package fetch

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

// A scriptedSocket receives datagrams from a list of addresses and records the destinations of its
// writes.
type scriptedSocket struct {
	net.PacketConn
	from, to []string
}

func (s *scriptedSocket) ReadFrom(p []byte) (int, net.Addr, error) {
	if len(s.from) == 0 {
		return 0, nil, io.EOF
	}
	from := s.from[0]
	s.from = s.from[1:]
	return copy(p, from), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(from)), nil
}

func (s *scriptedSocket) WriteTo(p []byte, to net.Addr) (int, error) {
	s.to = append(s.to, to.String()+" "+string(p))
	return len(p), nil
}

func TestDatagramsStayWithFirstReplyPort(t *testing.T) {
	t.Parallel()
	server := netip.MustParseAddrPort("192.0.2.1:69")
	s := &scriptedSocket{from: []string{"192.0.2.2:4000", "192.0.2.1:53", "[::ffff:192.0.2.1]:4000", "192.0.2.1:4001", "192.0.2.3:4000", "192.0.2.1:69", "192.0.2.1:4000"}}
	d := &datagrams{PacketConn: s, server: server, stray: []byte("who?")}
	d.peer.Store(&server)
	d.Write([]byte("1"))
	var got []string
	for {
		buf := make([]byte, 100)
		n, err := d.Read(buf)
		if err != nil {
			break
		}
		got = append(got, string(buf[:n]))
		d.Write([]byte("2"))
	}
	if want := []string{"[::ffff:192.0.2.1]:4000", "192.0.2.1:4000"}; !slices.Equal(got, want) {
		t.Errorf("received from %q, want %q", got, want)
	}
	if want := []string{"192.0.2.1:69 1", "192.0.2.1:4000 2", "192.0.2.1:4001 who?", "192.0.2.1:69 who?", "192.0.2.1:4000 2"}; !slices.Equal(s.to, want) {
		t.Errorf("sent %q, want %q", s.to, want)
	}
}

func TestDatagramsWithDialContextRequireListenPacket(t *testing.T) {
	t.Parallel()
	var env Env
	load := func(e Env, reg *Registry) {
		env = e
		reg.Register(Scheme{Name: "x-d", Ops: []Op{OpGet}, Driver: DriverFunc(func(ctx context.Context, req *Request) (*Response, error) {
			conn, err := env.DialDatagrams(ctx, req.URL.HostPort(7777), nil)
			if err != nil {
				return nil, err
			}
			conn.Close()
			return &Response{Body: NoBody}, nil
		})})
	}
	listens := 0
	listen := func(ctx context.Context, network, addr string) (net.PacketConn, error) {
		listens++
		return new(net.ListenConfig).ListenPacket(ctx, network, addr)
	}
	for name, tt := range map[string]struct {
		opts Options
		code Code
	}{
		"neither": {Options{}, ""},
		"dialer":  {Options{DialContext: new(net.Dialer).DialContext}, ErrNotRetrievable},
		"both":    {Options{DialContext: new(net.Dialer).DialContext, ListenPacket: listen}, ""},
		"proxy":   {Options{Proxy: func(uri.URI) (uri.URI, error) { return uri.MustParse("socks5://127.0.0.1:1"), nil }}, ErrPolicy},
	} {
		c := New(&tt.opts, load)
		resp, err := c.Get(t.Context(), "x-d://127.0.0.1/")
		if CodeOf(err) != tt.code {
			t.Errorf("%s: error %v, want class %q", name, err, tt.code)
		}
		if err == nil {
			resp.Body.Close()
		}
		c.Close()
	}
	if listens != 1 {
		t.Errorf("%d sockets from ListenPacket, want 1", listens)
	}
}
