package ardp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The headers were captured between a client and the original server.
func TestHeadersMatchTheCapture(t *testing.T) {
	t.Parallel()
	long := make([]byte, 24*MaxPayload+1)
	reply := ReplyPackets(0x3333, long)
	tests := []struct {
		name, want string
		got        []byte
	}{
		{"a request", "09 32 32 00 01 00 01 00 00", Packets(0x3232, nil)[0]},
		{"a short reply", "03 32 32", ReplyPackets(0x3232, nil)[0]},
		{"the first of a long reply", "07 33 33 00 01 00 00", reply[0][:7]},
		{"a full window", "0c 33 33 00 10 00 00 00 01 00 00 80", reply[15][:12]},
		{"the last packet", "07 33 33 00 19 00 19", reply[24][:7]},
		{"a wait packet", "0b 33 33 00 00 00 00 00 00 00 05", WaitPacket(0x3333, 5)},
		{"a queue position", "14 33 33 00 00 00 00 00 00 03 84 00 fe 03 00 03 00 00 03 84", QueuePacket(0x3333, 900, 3)},
		{"an acknowledgement", "09 33 33 00 00 00 00 00 10", Acknowledgement(0x3333, 16)},
	}
	for _, tt := range tests {
		if want := unhex(t, tt.want); !bytes.Equal(tt.got, want) {
			t.Errorf("%s: % x, want % x", tt.name, tt.got, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     Header
		payload  string
		err      error
	}{
		{"one byte", "01 41", Header{Seq: 1, Total: 1}, "A", nil},
		{"a connection", "03 32 32 41", Header{CID: 0x3232, Seq: 1, Total: 1}, "A", nil},
		{"a packet of several", "07 31 31 00 02 00 02 41", Header{CID: 0x3131, Seq: 2, Total: 2}, "A", nil},
		{"a queue position", "14 31 31 00 00 00 00 00 00 03 84 00 fe 03 00 03 00 00 03 84",
			Header{CID: 0x3131, Wait: 900, Option: OptionQueue, Position: 3}, "", nil},
		{"no queue position", "14 31 31 00 00 00 00 00 00 03 84 00 fe 02 00 03 00 00 03 84",
			Header{CID: 0x3131, Wait: 900, Option: OptionQueue}, "", nil},
		{"a truncated queue position", "0e 31 31 00 00 00 00 00 00 03 84 00 fe 01", Header{CID: 0x3131, Wait: 900, Option: OptionQueue}, "", nil},
		{"a wait packet", "0b 31 31 00 00 00 00 00 00 00 05", Header{CID: 0x3131, Wait: 5}, "", nil},
		{"unknown fields", "0f 31 31 00 01 00 01 00 00 00 00 80 01 07 07 41",
			Header{CID: 0x3131, Seq: 1, Total: 1, Flags: flagAcknowledge, Option: optionRefused}, "A", nil},
		{"nothing", "", Header{}, "", ErrMalformed},
		{"no header", "00 41", Header{}, "", ErrMalformed},
		{"another version", "49 00 00", Header{}, "", ErrMalformed},
		{"a header beyond the end", "09 31 31", Header{}, "", ErrMalformed},
	}
	for _, tt := range tests {
		h, payload, err := Parse(unhex(t, tt.in))
		if h != tt.want || string(payload) != tt.payload || !errors.Is(err, tt.err) {
			t.Errorf("%s: %+v, %q, %v", tt.name, h, payload, err)
		}
	}
}

// pair returns a client's connection and the server's side of it.
func pair(t *testing.T) (client net.Conn, server net.PacketConn) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err = net.Dial("udp", server.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// serve replies like the original server until the socket is closed. The function fate simulates the
// network: it returns the packets that arrive for each packet sent.
func serve(t *testing.T, server net.PacketConn, message []byte, fate func(packet []byte) [][]byte) {
	var wg sync.WaitGroup
	wg.Go(func() {
		var buf [4096]byte
		var packets [][]byte
		for {
			n, from, err := server.ReadFrom(buf[:])
			if err != nil {
				return
			}
			h, _, err := Parse(buf[:n])
			if err != nil {
				continue
			}
			if packets == nil {
				packets = ReplyPackets(h.CID, message)
			}
			end := (int(h.Received)/Window + 1) * Window
			for _, p := range packets[h.Received:min(end, len(packets))] {
				for _, p := range fate(p) {
					server.WriteTo(p, from)
				}
			}
		}
	})
	t.Cleanup(func() { server.Close(); wg.Wait() })
}

// quick retransmits soon, and waits for more than a minute for a server with little processor time.
var quick = Timing{First: 10 * time.Millisecond, Tries: 13}

func TestUnreliableNetwork(t *testing.T) {
	t.Parallel()
	message := make([]byte, 1<<20)
	for i := range message {
		message[i] = byte(rand.Uint32())
	}
	seeds := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		name                   string
		lose, double, disorder float64
	}{
		{"as it is", 0, 0, 0},
		{"with losses", 0.05, 0, 0},
		{"with doubles", 0, 0.05, 0},
		{"out of order", 0, 0, 0.3},
		{"with everything", 0.05, 0.05, 0.05},
	} {
		random := rand.New(rand.NewPCG(seeds.Uint64(), 3))
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, server := pair(t)
			var delayed []byte
			serve(t, server, message, func(p []byte) [][]byte {
				var out [][]byte
				switch {
				case random.Float64() < tt.lose:
				case random.Float64() < tt.double:
					out = [][]byte{p, p}
				case delayed == nil && random.Float64() < tt.disorder:
					delayed = p
					return nil
				default:
					out = [][]byte{p}
				}
				if delayed != nil {
					out, delayed = append(out, delayed), nil
				}
				return out
			})
			x, err := Start(client, []byte("request"), 2<<20, quick)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(x)
			if err != nil || !bytes.Equal(got, message) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	client, server := pair(t)
	x, err := Start(client, []byte("request"), 1<<20, Timing{First: time.Millisecond, Tries: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(x); !errors.Is(err, ErrNoReply) {
		t.Errorf("error %v", err)
	}
	var first []byte
	for i := range 4 {
		var buf [100]byte
		n, _, err := server.ReadFrom(buf[:])
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = bytes.Clone(buf[:n])
		}
		if !bytes.Equal(buf[:n], first) {
			t.Errorf("repetition %d differs: %q", i, buf[:n])
		}
	}
}

// TestPacketsOutOfOrderAreNoProgress checks that packets out of order do not extend the deadline.
func TestPacketsOutOfOrderAreNoProgress(t *testing.T) {
	t.Parallel()
	client, server := pair(t)
	x, err := Start(client, []byte("request"), 1<<20, Timing{First: time.Hour, Limit: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var buf [100]byte
	n, from, err := server.ReadFrom(buf[:])
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := Parse(buf[:n])
	deadline := x.deadline
	for seq := range uint16(2 * Window) {
		server.WriteTo(Header{CID: h.CID, Seq: seq + 2}.Append(nil, 7, []byte("x")), from)
		if err := x.receive(); err != nil {
			break // a slow machine may have reached the deadline
		}
	}
	if !x.deadline.Equal(deadline) {
		t.Errorf("packets without the first make the wait %v longer", x.deadline.Sub(deadline))
	}
}

// TestWaiting checks the calls of Timing.Waiting for wait packets with and without a queue
// position.
func TestWaiting(t *testing.T) {
	t.Parallel()
	client, server := pair(t)
	var waits []string
	x, err := Start(client, []byte("request"), 1<<20, Timing{Waiting: func(wait time.Duration, position int) {
		waits = append(waits, fmt.Sprint(wait, position))
	}})
	if err != nil {
		t.Fatal(err)
	}
	var buf [100]byte
	n, from, err := server.ReadFrom(buf[:])
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := Parse(buf[:n])
	for _, p := range [][]byte{QueuePacket(h.CID, 5, 7), QueuePacket(h.CID, 5, 7), QueuePacket(h.CID, 5, 6), WaitPacket(h.CID, 60), ReplyPackets(h.CID, []byte("ok"))[0]} {
		server.WriteTo(p, from)
	}
	if got, err := io.ReadAll(x); string(got) != "ok" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if want := []string{"5s 7", "5s 6", "1m0s 0"}; !slices.Equal(waits, want) {
		t.Errorf("Waiting was called with %q, want %q", waits, want)
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		reply func(cid uint16) [][]byte
		want  string
		err   error
	}{
		{"a reply", func(cid uint16) [][]byte { return ReplyPackets(cid, []byte("ok")) }, "ok", nil},
		{"a reply of version 1", func(uint16) [][]byte { return ReplyPackets(0, []byte("ok")) }, "ok", nil},
		{"wait, then a reply", func(cid uint16) [][]byte {
			return [][]byte{WaitPacket(cid, 60), ReplyPackets(cid, []byte("ok"))[0]}
		}, "ok", nil},
		{"no", func(cid uint16) [][]byte { return [][]byte{Refusal(cid)} }, "", ErrRefused},
		{"somewhere else", func(cid uint16) [][]byte {
			return [][]byte{Header{CID: cid, Option: optionRedirect}.Append(nil, 13, []byte{127, 0, 0, 1, 0, 9})}
		}, "", ErrRefused},
		{"packets of other exchanges", func(cid uint16) [][]byte {
			return [][]byte{ReplyPackets(cid^1, []byte("evil"))[0], []byte("rubbish"), ReplyPackets(cid, []byte("ok"))[0]}
		}, "ok", nil},
		{"an empty reply", func(cid uint16) [][]byte { return ReplyPackets(cid, nil) }, "", nil},
		{"too much", func(cid uint16) [][]byte { return ReplyPackets(cid, make([]byte, 1000)) }, "", ErrTooLong},
		{"a beginning", func(cid uint16) [][]byte { return ReplyPackets(cid, make([]byte, MaxPayload+1))[:1] }, "", ErrTooLong},
		{"a total that shrinks", func(cid uint16) [][]byte {
			return [][]byte{Header{CID: cid, Seq: 1, Total: 5}.Append(nil, 7, []byte("a")), Header{CID: cid, Seq: 2, Total: 2}.Append(nil, 7, []byte("b"))}
		}, "a", ErrMalformed},
		{"a packet beyond the total", func(cid uint16) [][]byte {
			return [][]byte{Header{CID: cid, Seq: 3}.Append(nil, 7, []byte("c")), Header{CID: cid, Seq: 1, Total: 2}.Append(nil, 7, []byte("a"))}
		}, "", ErrMalformed},
		{"half of it", func(cid uint16) [][]byte {
			return [][]byte{Header{CID: cid, Seq: 1}.Append(nil, 7, []byte("half"))}
		}, "half", io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client, server := pair(t)
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() {
				var buf [100]byte
				n, from, err := server.ReadFrom(buf[:])
				if err != nil {
					return
				}
				h, _, _ := Parse(buf[:n])
				for _, p := range tt.reply(h.CID) {
					server.WriteTo(p, from)
				}
			})
			timing := quick
			if tt.err == io.ErrUnexpectedEOF { // the client gives up, 2.5 s after the last packet
				timing.Tries = 7
			}
			x, err := Start(client, []byte("request"), 500, timing)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(x)
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestLongRequestIsSplit(t *testing.T) {
	t.Parallel()
	message := bytes.Repeat([]byte("abc"), 1000)
	var got []byte
	for i, p := range Packets(0x4141, message) {
		h, payload, err := Parse(p)
		if err != nil || h.Seq != uint16(i+1) || h.Total != 3 {
			t.Errorf("packet %d: %+v, %v", i, h, err)
		}
		got = append(got, payload...)
	}
	if !bytes.Equal(got, message) {
		t.Error("the packets do not hold the message")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"01", "093232000100010000", "0c33330010000000010000803c", "07333300190019"} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		h, payload, err := Parse(packet)
		if err != nil {
			return
		}
		again, rest, err := Parse(h.Append(nil, endOption, payload))
		if err != nil || again != h || !bytes.Equal(rest, payload) {
			t.Errorf("%+v came back as %+v, %v", h, again, err)
		}
	})
}
