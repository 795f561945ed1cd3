package fetch

import (
	"context"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
)

// Unread checks connections through proxies without waiting, as it does for other connections.
func TestUnreadOfTunnels(t *testing.T) {
	t.Parallel()
	for proxy, answers := range map[string][]string{
		"socks5":  {"\x05\x00", "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"},
		"socks4a": {"\x00\x5a\x00\x00\x00\x00\x00\x00"},
		"connect": {"HTTP/1.1 200 OK\r\n\r\n"},
	} {
		t.Run(proxy, func(t *testing.T) {
			t.Parallel()
			client, server := servers.Pair(t)
			go func() {
				for _, answer := range answers {
					server.Read(make([]byte, 512))
					io.WriteString(server, answer)
				}
			}()
			c := New(&Options{DialContext: func(context.Context, string, string) (net.Conn, error) { return client, nil }})
			ctx := withProvenance(t.Context(), &provenance{proxy: proxyChoice{url: uri.MustParse(proxy + "://proxy.invalid:1")}})
			conn, err := (&env{client: c}).Dial(ctx, "tcp", "host.invalid:2")
			if err != nil {
				t.Fatal(err)
			}
			if socket, ok := conn.NetConn().(syscall.Conn); !ok {
				t.Error("the socket cannot be seen")
			} else if _, err := socket.SyscallConn(); err != nil || conn.Unread() {
				t.Errorf("the socket cannot be seen, or has input: %v", err)
			}
			io.WriteString(server, "more")
			for !conn.Unread() { // until the byte arrives
				if t.Context().Err() != nil {
					t.Fatal("input is not noticed")
				}
			}
		})
	}
}
