package servers_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/prosperod"
	"github.com/urlget/urlget/internal/codec/ardp"
)

// prosperoContents is a file of two windows of packets.
var prosperoContents = bytes.Repeat([]byte("0123456789"), 30*ardp.MaxPayload/10)

// prosperoPatient is the number of retransmissions of a client that waits for more than a minute. A
// server with little processor time may send nothing for a second.
const prosperoPatient = 12

// prosperoAsk requests the file. It gives up after the given number of retransmissions, the first of which
// comes after 20 ms.
func prosperoAsk(t *testing.T, s *prosperod.Server, tries int) (string, error) {
	t.Helper()
	conn, err := net.Dial("udp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	x, err := ardp.Start(conn, []byte("VERSION 5\nGET-OBJECT-INFO CONTENTS ASCII /file 0\n"), 1<<20,
		ardp.Timing{First: 20 * time.Millisecond, Tries: tries})
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(x)
	return string(got), err
}

// TestManyAtOnce checks that the server keeps a reply until its client has all of it, regardless of
// other clients.
func TestProsperoManyAtOnce(t *testing.T) {
	t.Parallel()
	s := prosperod.Start(t, prosperod.Options{Tree: fstest.MapFS{"file": {Data: prosperoContents}}})
	const clients = 200
	var all []*ardp.Exchange
	for range clients {
		conn, err := net.Dial("udp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		x, err := ardp.Start(conn, []byte("VERSION 5\nGET-OBJECT-INFO CONTENTS ASCII /file 0\n"), 1<<20,
			ardp.Timing{First: 100 * time.Millisecond, Tries: prosperoPatient})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(x, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	for i, x := range all {
		if rest, err := io.ReadAll(x); err != nil || len(rest) < len(prosperoContents) {
			t.Fatalf("client %d of %d: %d bytes more, %v", i, clients, len(rest), err)
		}
	}
}

// TestFaults applies each fault once.
func TestProsperoFaults(t *testing.T) {
	t.Parallel()
	want := "ATTRIBUTE OBJECT INTRINSIC CONTENTS SEQUENCE DATA '" + string(prosperoContents) + "'\n"
	half := len(want) / 2 / ardp.MaxPayload * ardp.MaxPayload
	for fault, tt := range map[servers.Fault]struct {
		want string
		err  error
	}{
		servers.Cut:     {want[:half], io.ErrUnexpectedEOF},
		servers.Stall:   {want[:half], io.ErrUnexpectedEOF},
		servers.Short:   {want[:half], nil},
		servers.Abort:   {want[:half], ardp.ErrRefused},
		servers.Endless: {"", ardp.ErrTooLong},
		servers.Drip:    {want, nil},
		servers.Split:   {want, nil},
		servers.Noise:   {"\x00\xff what?\n'''", nil},
	} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			s := prosperod.Start(t, prosperod.Options{Tree: fstest.MapFS{"file": {Data: prosperoContents}}})
			s.Arm(servers.Failure{Fault: fault, Every: time.Millisecond})
			tries := prosperoPatient
			if tt.err == io.ErrUnexpectedEOF { // the client gives up, 2.5 s after the last packet
				tries = 6
			}
			got, err := prosperoAsk(t, s, tries)
			if !errors.Is(err, tt.err) || fault != servers.Endless && got != tt.want {
				t.Errorf("%d bytes, %v; want %d, %v", len(got), err, len(tt.want), tt.err)
			}
			if got, err := prosperoAsk(t, s, prosperoPatient); err != nil || got != want || s.Struck() != 1 {
				t.Errorf("then %d bytes, %v; %d replies have failed", len(got), err, s.Struck())
			}
		})
	}
}

func TestProsperoFaultsOfDatagrams(t *testing.T) {
	t.Parallel()
	s := prosperod.Start(t, prosperod.Options{})
	if s.Can(servers.Reset) || s.Can(servers.HalfClose) || !s.Can(servers.Cut) {
		t.Error("there is a connection to reset")
	}
}

// TestSplit counts the datagrams of a small reply.
func TestProsperoSplit(t *testing.T) {
	t.Parallel()
	s := prosperod.Start(t, prosperod.Options{})
	s.Arm(servers.Failure{Fault: servers.Split, On: "LIST"})
	conn, err := net.Dial("udp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Write([]byte("\x01VERSION 5\nDIRECTORY ASCII /none\nLIST ATTRIBUTES\n"))
	var got strings.Builder
	var buf [100]byte
	conn.SetReadDeadline(time.Now().Add(5 * time.Minute))
	for range ardp.Window {
		n, err := conn.Read(buf[:])
		if err != nil {
			t.Fatal(err)
		}
		_, payload, err := ardp.Parse(buf[:n])
		if len(payload) != 1 || err != nil {
			t.Errorf("payload %q, %v", payload, err)
		}
		got.Write(payload)
	}
	if got.String() != "FAILURE NOT-A-DIRECTORY\n"[:ardp.Window] {
		t.Errorf("got %q", got.String())
	}
	conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := conn.Read(buf[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v without an acknowledgement", buf[:n], err)
	}
}

// A prosperoPeer is a client that sees each datagram.
type prosperoPeer struct {
	net.Conn
	t *testing.T
}

func prosperoDial(t *testing.T, s *prosperod.Server) prosperoPeer {
	t.Helper()
	conn, err := net.Dial("udp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	return prosperoPeer{conn, t}
}

// request requests the file, always in the same exchange.
func (p prosperoPeer) request() {
	p.Write(append(ardp.Header{CID: 0x3131, Seq: 1, Total: 1}.Append(nil, 9, nil), "GET-OBJECT-INFO CONTENTS ASCII /file 0\n"...))
}

// list requests the file as a directory, in the same exchange.
func (p prosperoPeer) list() {
	p.Write(append(ardp.Header{CID: 0x3131, Seq: 1, Total: 1}.Append(nil, 9, nil), "DIRECTORY ASCII /file\nLIST\n"...))
}

// TestReusedConnectionID reuses the number of an exchange for another request, as a new
// client on the same port may.
func TestProsperoReusedConnectionID(t *testing.T) {
	t.Parallel()
	p := prosperoDial(t, prosperod.Start(t, prosperod.Options{Tree: prosperoSmall}))
	p.list()
	if _, payload := p.next(); payload != "FAILURE NOT-A-DIRECTORY\n" {
		t.Errorf("reply %q", payload)
	}
	for range 2 {
		p.request()
		if _, payload := p.next(); payload != prosperoSmallReply {
			t.Errorf("reply %q", payload)
		}
	}
}

// next returns the next packet.
func (p prosperoPeer) next() (ardp.Header, string) {
	p.t.Helper()
	var buf [2048]byte
	n, err := p.Read(buf[:])
	if err != nil {
		p.t.Fatal(err)
	}
	h, payload, err := ardp.Parse(buf[:n])
	if err != nil {
		return ardp.Header{}, "no packet"
	}
	return h, string(payload)
}

var prosperoSmall = fstest.MapFS{"file": {Data: []byte("text")}}

const prosperoSmallReply = "ATTRIBUTE OBJECT INTRINSIC CONTENTS SEQUENCE DATA 'text'\n"

func TestProsperoQueue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		queue prosperod.Queue
		want  ardp.Header
	}{
		"with a position":     {prosperod.Queue{Times: 2, Wait: 900 * time.Second, Position: 3}, ardp.Header{CID: 0x3131, Wait: 900, Option: ardp.OptionQueue, Position: 3}},
		"without":             {prosperod.Queue{Times: 2, Wait: 5 * time.Second}, ardp.Header{CID: 0x3131, Wait: 5}},
		"without being asked": {prosperod.Queue{Times: 2, Wait: 5 * time.Second, Every: time.Millisecond}, ardp.Header{CID: 0x3131, Wait: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prosperoDial(t, prosperod.Start(t, prosperod.Options{Tree: prosperoSmall, Queue: tt.queue}))
			p.request()
			for range tt.queue.Times {
				if h, payload := p.next(); h != tt.want || payload != "" {
					t.Errorf("packet %+v, %q; want %+v", h, payload, tt.want)
				}
				if tt.queue.Every == 0 {
					p.request()
				}
			}
			if _, payload := p.next(); payload != prosperoSmallReply {
				t.Errorf("reply %q", payload)
			}
			p.request()
			if _, payload := p.next(); payload != prosperoSmallReply {
				t.Errorf("the reply once more is %q", payload)
			}
		})
	}
}

func TestProsperoEndlessQueue(t *testing.T) {
	t.Parallel()
	s := prosperod.Start(t, prosperod.Options{Tree: prosperoSmall, Queue: prosperod.Queue{Times: -1, Wait: 5 * time.Second, Every: time.Millisecond}})
	p := prosperoDial(t, s)
	p.request()
	for range 20 {
		if h, payload := p.next(); h.Wait != 5 || payload != "" {
			t.Errorf("packet %+v, %q", h, payload)
		}
	}
}

func TestProsperoChatter(t *testing.T) {
	t.Parallel()
	s := prosperod.Start(t, prosperod.Options{Tree: fstest.MapFS{"file": {Data: prosperoContents}},
		Chatter: prosperod.Chatter{Every: time.Millisecond, Garbage: true, Repeat: true}})
	s.Arm(servers.Failure{Fault: servers.Stall, After: 2 * ardp.MaxPayload})
	p := prosperoDial(t, s)
	p.request()
	var first, second string
	if _, first = p.next(); !strings.HasPrefix(first, "ATTRIBUTE") {
		t.Errorf("first packet %q", first)
	}
	if h, payload := p.next(); h.Seq != 2 {
		t.Errorf("second packet %+v, %q", h, payload)
	} else {
		second = payload
	}
	for range 5 {
		if _, payload := p.next(); payload != "no packet" {
			t.Errorf("got %q, want garbage", payload)
		}
		if h, payload := p.next(); h.Seq != 2 || payload != second {
			t.Errorf("got %+v, want packet 2", h)
		}
	}
}

func TestProsperoLinksOfOtherKinds(t *testing.T) {
	t.Parallel()
	s := prosperod.Start(t, prosperod.Options{
		Tree:   prosperoSmall,
		Unions: map[string][]string{"/": {"/other"}},
		Links: map[string][]string{"/": {
			"LINK L EXTERNAL login INTERNET-D $HOST ASCII '' 0",
			"ATTRIBUTE CACHED FIELD ACCESS-METHOD TELNET '' '' '' '' ''",
		}},
	})
	p := prosperoDial(t, s)
	p.Write([]byte("\x01VERSION 5\nDIRECTORY ASCII /\nLIST '' COMPONENTS\n"))
	host := strings.Replace(s.Addr, ":", "(", 1) + ")"
	_, got := p.next()
	for _, want := range []string{
		"LINK  U DIRECTORY other INTERNET-D " + host + " ASCII /other 0\n",
		"LINK  L FILE file INTERNET-D " + host + " ASCII /file 0\n",
		"LINK L EXTERNAL login INTERNET-D " + host + " ASCII '' 0\nATTRIBUTE CACHED FIELD ACCESS-METHOD TELNET",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
