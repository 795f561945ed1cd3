package ftp

import (
	"cmp"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// TestRestartsAreProven requests parts from servers that honour REST, ignore it or refuse it. A part
// is right, missing or replaced by the complete file, but never another part.
func TestRestartsAreProven(t *testing.T) {
	t.Parallel()
	random := make([]byte, 3000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	content := string(random)
	const whole = "whole"
	for _, server := range []struct {
		name  string
		opts  ftpd.Options
		rest  string     // of a request for the rest of the file: "", or whole
		code  fetch.Code // of such a request
		part  string
		knows bool // the size
	}{
		{name: "honours", knows: true},
		{name: "honours, no SIZE", opts: ftpd.Options{Unknown: []string{"SIZE"}}},
		{name: "honours, no SIZE, announces", opts: ftpd.Options{Unknown: []string{"SIZE"}, Announce: true}},
		{name: "ignores", opts: ftpd.Options{NoRestart: true}, code: fetch.ErrRange, part: whole, knows: true},
		{name: "ignores, no SIZE", opts: ftpd.Options{NoRestart: true, Unknown: []string{"SIZE"}}, rest: whole, part: whole},
		{name: "ignores, no SIZE, announces", opts: ftpd.Options{NoRestart: true, Unknown: []string{"SIZE"}, Announce: true}, rest: whole, part: whole},
		{name: "refuses", opts: ftpd.Options{Unknown: []string{"REST"}}, rest: whole, part: whole, knows: true},
		{name: "answers with garbage", opts: ftpd.Options{Replies: map[string]string{"REST": "999 what\r\n"}}, rest: whole, part: whole, knows: true},
	} {
		for _, r := range []fetch.Range{{Offset: 1000}, {Offset: 2999}, {Offset: 1000, Length: 500}, {Offset: 2990, Length: 10}, {Offset: 1, Length: 1}} {
			t.Run(server.name, func(t *testing.T) {
				t.Parallel()
				opts := server.opts
				opts.Tree = fstest.MapFS{"f.bin": {Data: random}}
				s := ftpd.Start(t, opts)
				c := drive.Client(t, nil, With(Options{}))
				isRest := r.Length == 0 || server.knows && r.Offset+r.Length == 3000
				for range 2 {
					req := request(fetch.OpGet, s.URL+"/f.bin")
					req.Range = r
					body, resp, err := drive.Do(t, c, req)
					want, code, as := content[r.Offset:], fetch.Code(""), server.part
					if r.Length > 0 {
						want = want[:r.Length]
					}
					if isRest {
						code, as = server.code, server.rest
					}
					if as == whole {
						want = content
					}
					switch {
					case fetch.CodeOf(err) != code:
						t.Errorf("%+v: error %v, want %q", r, err, code)
					case err == nil && (body != want || resp.Range.IsZero() != (as == whole)):
						t.Errorf("%+v: %d bytes with range %+v, want %d", r, len(body), resp.Range, len(want))
					case err != nil && (len(body) >= len(want) || !strings.Contains(err.Error(), "does not honour REST")):
						t.Errorf("%+v: %d bytes and %v", r, len(body), err)
					}
				}
			})
		}
	}
}

// TestProbeWithoutContent cuts off the data connections of probes. Nothing received does not prove that the
// server ignores REST: the network may have failed, so there is a second probe.
func TestProbeWithoutContent(t *testing.T) {
	t.Parallel()
	for cut, want := range map[int]string{0: welcome[1:3], 1: welcome[1:3], 2: welcome} {
		s := ftpd.Start(t, ftpd.Options{Tree: small})
		opened := 0
		c := drive.Client(t, &fetch.Options{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil && addr != s.Addr {
				if opened++; opened <= cut {
					return endedConn{conn}, nil
				}
			}
			return conn, err
		}}, With(Options{}))
		for range 2 {
			req := request(fetch.OpGet, s.URL+"/motd")
			req.Range = fetch.Range{Offset: 1, Length: 2}
			body, resp, err := drive.Do(t, c, req)
			if body != want || err != nil || resp.Range.IsZero() != (want == welcome) {
				t.Errorf("%d probes cut off: %q, %v; want %q", cut, body, err, want)
			}
		}
	}
}

// An endedConn is a connection without input.
type endedConn struct{ net.Conn }

func (endedConn) Read([]byte) (int, error) { return 0, io.EOF }

// TestOneProbeForAServer proves a restart once.
func TestOneProbeForAServer(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: small})
	c := drive.Client(t, nil, With(Options{}))
	for i := range int64(3) {
		req := request(fetch.OpGet, s.URL+"/motd")
		req.Range = fetch.Range{Offset: i + 1, Length: 2}
		if body, _, err := drive.Do(t, c, req); body != welcome[i+1:i+3] || err != nil {
			t.Errorf("%q, %v", body, err)
		}
	}
	rests := slices.DeleteFunc(s.Log(), func(line string) bool { return !strings.HasPrefix(line, "REST") })
	if want := []string{"REST 8", "REST 1", "REST 2", "REST 3"}; !slices.Equal(rests, want) || s.Logins() != 1 {
		t.Errorf("%q in %d logins, want %q", rests, s.Logins(), want)
	}
}

// TestOddRepliesToARestart has refusals and garbage in reply to the commands before the rest of a file.
// The request fails or gets the right bytes.
func TestOddRepliesToARestart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		verb, reply string
		code        fetch.Code // "" for the rest or the whole file
	}{
		{verb: "REST", reply: "500 what"}, {verb: "REST", reply: "200 ok"}, {verb: "REST", reply: "421 closing", code: fetch.ErrBusy},
		{verb: "REST", reply: "garbage", code: fetch.ErrProtocol}, {verb: "SIZE", reply: "500 what"}, {verb: "SIZE", reply: "213 many"},
		{verb: "SIZE", reply: "999 9"}, {verb: "SIZE", reply: "garbage", code: fetch.ErrProtocol},
		{verb: "TYPE", reply: "500 what", code: fetch.ErrRefused}, {verb: "TYPE", reply: "999 what", code: fetch.ErrProtocol},
		{verb: "TYPE", reply: "350 what", code: fetch.ErrProtocol}, {verb: "TYPE", reply: "garbage", code: fetch.ErrProtocol},
		{verb: "EPSV", reply: "500 what"}, {verb: "EPSV", reply: "229 what"}, {verb: "EPSV", reply: "999 what"},
		{verb: "EPSV", reply: "garbage", code: fetch.ErrProtocol}, {verb: "MDTM", reply: "999 what"},
	} {
		t.Run(tt.verb+" "+tt.reply, func(t *testing.T) {
			t.Parallel()
			s := ftpd.Start(t, ftpd.Options{Tree: small, Replies: map[string]string{tt.verb: tt.reply + "\r\n"}})
			req := request(fetch.OpGet, s.URL+"/motd")
			req.Range.Offset = 3
			body, resp, err := drive.Do(t, drive.Client(t, nil, With(Options{})), req)
			var offset int64
			if resp != nil {
				offset = resp.Range.Offset
			}
			if fetch.CodeOf(err) != tt.code || err == nil && body != welcome[offset:] {
				t.Errorf("%q from %d, %v; want %v", body, offset, err, cmp.Or(string(tt.code), "no error"))
			}
		})
	}
}
