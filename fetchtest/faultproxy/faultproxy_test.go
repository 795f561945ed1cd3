package faultproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sent is the data that the servers send after reading one byte.
var sent = bytes.Repeat([]byte("0123456789abcdef"), 8<<10)

func serveTCP(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := io.ReadFull(c, make([]byte, 1)); err == nil {
					c.Write(sent)
				}
			}()
		}
	}()
	return l.Addr().String()
}

func ask(t *testing.T, p *Proxy, network, addr string) net.Conn {
	t.Helper()
	c, err := p.DialContext(t.Context(), network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Write([]byte("?")); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTCP(t *testing.T) {
	t.Parallel()
	const at = 70000
	flipped := bytes.Clone(sent)
	flipped[at] ^= 2
	doubled := bytes.Clone(sent[:at+duplicateLen])
	doubled = append(doubled, sent[at:]...)
	tests := []struct {
		kind Kind
		want []byte
		err  error
	}{
		{None, sent, nil},
		{Delay, sent, nil},
		{Chop, sent, nil},
		{Stall, sent[:at], os.ErrDeadlineExceeded},
		{Cut, sent[:at], nil},
		{Reset, nil, syscall.ECONNRESET},
		{HalfClose, sent[:at], nil},
		{Flip, flipped, nil},
		{Duplicate, doubled, nil},
	}
	for _, tt := range tests {
		t.Run(tt.kind.String(), func(t *testing.T) {
			t.Parallel()
			p := &Proxy{Limit: 1, Pick: func() Fault { return Fault{tt.kind, at, time.Millisecond} }}
			defer p.Close()
			addr := serveTCP(t)
			c := ask(t, p, "tcp", addr)
			var got []byte
			if tt.err == os.ErrDeadlineExceeded { // the timeout begins after the content
				got = make([]byte, at)
				if _, err := io.ReadFull(c, got); err != nil {
					t.Fatal(err)
				}
				c.SetReadDeadline(time.Now().Add(2 * time.Second))
			}
			rest, err := io.ReadAll(c)
			got = append(got, rest...)
			if !errors.Is(err, tt.err) || tt.want != nil && !bytes.Equal(got, tt.want) {
				t.Errorf("%d bytes, %v; want %d, %v", len(got), err, len(tt.want), tt.err)
			}
			struck := 1
			if tt.kind == None {
				struck = 0
			}
			if p.Struck() != struck || p.Longest() <= at {
				t.Errorf("%d struck, longest %d", p.Struck(), p.Longest())
			}
			if again, err := io.ReadAll(ask(t, p, "tcp", addr)); err != nil || !bytes.Equal(again, sent) {
				t.Errorf("beyond the limit: %d bytes, %v", len(again), err)
			}
		})
	}
}

func TestUDP(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind Kind
		want []string
	}{
		{None, []string{"one.", "two.", "end."}},
		{Delay, []string{"one.", "two.", "end."}},
		{Chop, []string{"one.", "end.", "two."}},
		{Stall, []string{"one."}},
		{Cut, []string{"one.", "end."}},
		{Reset, []string{"one."}},
		{HalfClose, []string{"one."}},
		{Flip, []string{"one.", "vwo.", "end."}},
		{Duplicate, []string{"one.", "two.", "two.", "end."}},
	}
	for _, tt := range tests {
		t.Run(tt.kind.String(), func(t *testing.T) {
			t.Parallel()
			server, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			p := &Proxy{Pick: func() Fault { return Fault{tt.kind, 4, time.Millisecond} }}
			defer p.Close()
			c := ask(t, p, "udp", server.LocalAddr().String())
			_, from, err := server.ReadFrom(make([]byte, 9))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{"one.", "two.", "end."} {
				server.WriteTo([]byte(s), from)
			}
			c.SetReadDeadline(time.Now().Add(time.Minute))
			buf := make([]byte, 99)
			for _, want := range tt.want {
				n, err := c.Read(buf)
				if string(buf[:n]) != want {
					t.Errorf("%q, %v; want %q", buf[:n], err, want)
				}
			}
			if len(tt.want) > 1 {
				return // UDP has no end of a connection
			}
			c.SetReadDeadline(time.Now().Add(2 * time.Second))
			if n, err := c.Read(buf); err == nil {
				t.Errorf("%q after the fault", buf[:n])
			}
		})
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	p := &Proxy{Pick: func() Fault { return Fault{Kind: Stall, After: 10} }}
	addr := serveTCP(t)
	c := ask(t, p, "tcp", addr)
	if _, err := io.ReadFull(c, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes of a closed proxy", n)
	}
	if _, err := p.DialContext(t.Context(), "tcp", addr); !errors.Is(err, errClosed) {
		t.Errorf("dial after Close: %v", err)
	}
}
