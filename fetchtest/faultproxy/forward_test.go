package faultproxy

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jlaffaye/ftp"

	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

func TestForward(t *testing.T) {
	t.Parallel()
	p := &Proxy{Limit: 1, Pick: func() Fault { return Fault{Kind: Cut, After: 1000} }}
	defer p.Close()
	addr, err := p.Forward("127.0.0.1:0", serveTCP(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]byte{sent[:1000], sent} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Write([]byte("?"))
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v; want %d", len(got), err, len(want))
		}
	}
	p.Close()
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("the port is open after Close")
	}
	if _, err := p.Forward("127.0.0.1:0", addr); err != errClosed {
		t.Errorf("Forward after Close: %v", err)
	}
}

func TestForwardClosesConnectionsIfServerRefuses(t *testing.T) {
	t.Parallel()
	p := &Proxy{}
	defer p.Close()
	addr, err := p.Forward("127.0.0.1:0", "127.0.0.1:1") // no program listens there, now or later
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes", n)
	}
}

func TestForwardFTP(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		unknown []string // commands that the server does not know
	}{
		{name: "EPSV"},
		{name: "PASV", unknown: []string{"EPSV"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"file": {Data: sent}}, Unknown: tt.unknown})
			p := &Proxy{Pick: func() Fault { return Fault{Kind: Flip, After: 70000} }}
			defer p.Close()
			addr, err := p.ForwardFTP("127.0.0.1:0", s.Addr)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c, err := ftp.Dial(addr, ftp.DialWithContext(ctx))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Quit()
			if err := c.Login("anonymous", "x"); err != nil {
				t.Fatal(err)
			}
			r, err := c.Retr("file")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			r.Close()
			if err != nil || len(got) != len(sent) || got[70000] != sent[70000]^2 {
				t.Errorf("%d bytes, %v; want one changed bit", len(got), err)
			}
			if p.Struck() != 1 || p.Longest() != int64(len(sent)) {
				t.Errorf("%d struck, longest %d; the data connection does not pass through the proxy", p.Struck(), p.Longest())
			}
		})
	}
}

func TestControlReplacesAddressesInPieces(t *testing.T) {
	t.Parallel()
	p := &Proxy{}
	defer p.Close()
	c := &control{p: p, host: "127.0.0.1"}
	var got []byte
	for _, b := range []byte("220-229 (|||7|)\r\n220 Hello\r\n226 Bye") {
		got = append(got, c.rewrite([]byte{b})...)
	}
	got = append(got, c.rewrite(nil)...)
	if want := "220-229 (|||7|)\r\n220 Hello\r\n226 Bye"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := c.rewrite([]byte("\r\n229 Yes (|||7|)\r\n")); bytes.Contains(got, []byte("|||7|")) {
		t.Errorf("%q has the server's port", got)
	}
}
