//go:build linux && integration

package wan

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

func TestTCPWithDelayAndLoss(t *testing.T) {
	l := Open(t, Quality{Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: 0.02, MTU: 576})
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	want := make([]byte, 300_000)
	for i := range want {
		want[i] = byte(rand.Uint32())
	}
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if host, _, _ := net.SplitHostPort(c.RemoteAddr().String()); host != client.String() {
			t.Errorf("the server sees a client at %s", host)
		}
		c.Write(want)
	}()
	start := time.Now()
	c, err := l.DialContext(t.Context(), "tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if elapsed := time.Since(start); elapsed < 40*time.Millisecond {
		t.Errorf("connected after %v, which is less than a round trip", elapsed)
	}
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d are there or right: %v", len(got), len(want), err)
	}
	if passed, lost := l.Packets(); lost == 0 || passed < int64(len(want)/576) {
		t.Errorf("%d packets passed, %d were lost", passed, lost)
	}
}

func TestLargeDatagrams(t *testing.T) {
	l := Open(t, Quality{Delay: time.Millisecond, MTU: 576})
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		buf := make([]byte, 4096)
		n, from, err := server.ReadFrom(buf)
		if err == nil {
			server.WriteTo(buf[:n], from)
		}
	}()
	c, err := l.DialContext(t.Context(), "udp", server.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	want := bytes.Repeat([]byte("datagram"), 300)
	if _, err := c.Write(want); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4096)
	n, err := c.Read(got)
	if err != nil || !bytes.Equal(got[:n], want) {
		t.Errorf("%d bytes of %d are there or right: %v", n, len(want), err)
	}
}
