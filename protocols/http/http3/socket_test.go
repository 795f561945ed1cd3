package http3

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

// TestZonesAreNotSent checks that zones of IPv6 addresses are not sent.
func TestZonesAreNotSent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ host, authority, want string }{
		{"", "[fe80::1%lo]:8443", "[fe80::1]:8443"},
		{"[fe80::1%lo]", "", "[fe80::1]"},
		{"", "[::1]:443", "[::1]:443"},
		{"h.example:1", "[fe80::1%lo]:1", "h.example:1"},
	} {
		if got := withoutZone(tt.host, tt.authority); got != tt.want {
			t.Errorf("%q, %q: %q is sent, want %q", tt.host, tt.authority, got, tt.want)
		}
	}
}

// TestQuicGoDoesNotLog checks that quic-go does not log the buffer sizes. It logs once per process,
// and only without the privilege to force the size, so a child process connects.
func TestQuicGoDoesNotLog(t *testing.T) {
	t.Parallel()
	const child = "URLGET_TEST_CONNECTS"
	if os.Getenv(child) == "" {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "-test.run=^TestQuicGoDoesNotLog$")
		cmd.Env = append(os.Environ(), child+"=1")
		var written strings.Builder
		cmd.Stderr = &written
		if err := cmd.Run(); err != nil || written.Len() > 0 {
			t.Errorf("%v; it wrote %q", err, written.String())
		}
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	socket, err := net.Dial("udp4", server.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, c := range []net.PacketConn{packetConn(socket), packetConn(struct{ net.Conn }{socket})} {
		q := &quic.Transport{Conn: c}
		if _, err := q.Dial(ctx, server.LocalAddr(), &tls.Config{NextProtos: []string{"h3"}, ServerName: "h"}, nil); ctx.Err() == nil {
			t.Errorf("the handshake ended early: %v", err)
		}
		q.Close()
	}
}
