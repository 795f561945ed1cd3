package protocols_test

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/internal/codec/ardp"
	"github.com/urlget/urlget/protocols"
)

// TestEveryWaitEnds checks every scheme over TCP with servers that never finish.
func TestEveryWaitEnds(t *testing.T) {
	t.Parallel()
	all, client := sites(t)
	for name, tt := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := uri.MustParse(tt.url)
			fetchtest.RunDrips(t, fetchtest.Drips{Says: tt.says, Pieces: tt.pieces, Session: tt.session,
				Open: func(_ testing.TB, o *fetch.Options) (*fetch.Client, *fetch.Request) {
					return client(u.Scheme(), o), &fetch.Request{URL: u, Op: tt.op}
				}})
		})
	}
}

// TestEveryWaitEndsOverUDP checks servers that send datagrams repeatedly.
func TestEveryWaitEndsOverUDP(t *testing.T) {
	t.Parallel()
	packet := func(cid uint16, seq int, text string) []byte {
		return ardp.Header{CID: cid, Seq: uint16(seq)}.Append(nil, 7, []byte(text))
	}
	long := "LINK L FILE " + strings.Repeat("x", 1000)
	for name, tt := range map[string]struct {
		url string
		op  fetch.Op
		say func(request []byte, cid uint16, n int) []byte // the n-th datagram, from 0
	}{
		"prospero, garbage":        {"prospero://$//x", fetch.OpGet, func([]byte, uint16, int) []byte { return []byte("\xff\x00 no packet") }},
		"prospero, echo":           {"prospero://$//x", fetch.OpGet, func(request []byte, _ uint16, _ int) []byte { return request }},
		"prospero, waits":          {"prospero://$//x", fetch.OpGet, func(_ []byte, cid uint16, _ int) []byte { return ardp.WaitPacket(cid, 900) }},
		"prospero, queue":          {"prospero://$//x", fetch.OpStat, func(_ []byte, cid uint16, n int) []byte { return ardp.QueuePacket(cid, 5, uint16(1000-n)) }},
		"prospero, one packet":     {"prospero://$//x", fetch.OpGet, func(_ []byte, cid uint16, _ int) []byte { return packet(cid, 1, "VERSION 5\n") }},
		"prospero, without first":  {"prospero://$//x", fetch.OpGet, func(_ []byte, cid uint16, n int) []byte { return packet(cid, 2+n%30, "x") }},
		"prospero, remarks":        {"prospero://$//x", fetch.OpList, func(_ []byte, cid uint16, n int) []byte { return packet(cid, n+1, "WARNING x\n") }},
		"prospero, attributes":     {"prospero://$//x", fetch.OpStat, func(_ []byte, cid uint16, n int) []byte { return packet(cid, n+1, "ATTRIBUTE x\n") }},
		"prospero, a line":         {"prospero://$//x", fetch.OpList, func(_ []byte, cid uint16, n int) []byte { return packet(cid, n+1, long[n%len(long):][:1]) }},
		"prospero, a link":         {"prospero://$//x", fetch.OpList, func(_ []byte, cid uint16, n int) []byte { return packet(cid, n+1, []string{"LINK ", "x"}[min(n, 1)]) }},
		"tftp, garbage":            {"tftp://$/x", fetch.OpGet, func([]byte, uint16, int) []byte { return []byte("\x00") }},
		"tftp, echo":               {"tftp://$/x", fetch.OpGet, func(request []byte, _ uint16, _ int) []byte { return request }},
		"tftp, options":            {"tftp://$/x", fetch.OpGet, func([]byte, uint16, int) []byte { return []byte("\x00\x06tsize\x001000\x00") }},
		"tftp, one block":          {"tftp://$/x", fetch.OpGet, func([]byte, uint16, int) []byte { return append([]byte("\x00\x03\x00\x01"), make([]byte, 512)...) }},
		"tftp, another's block":    {"tftp://$/x", fetch.OpGet, func(_ []byte, _ uint16, n int) []byte { return []byte{0, 3, 0, byte(1 + n%2*7), 'x'} }},
		"tftp, an acknowledgement": {"tftp://$/x", fetch.OpGet, func([]byte, uint16, int) []byte { return []byte("\x00\x04\x00\x01") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := repeat(t, tt.say)
			const limit = 200 * time.Millisecond
			c := fetch.New(&fetch.Options{Timeouts: fetch.Timeouts{Connect: limit, Reply: limit, Idle: limit}}, protocols.All)
			defer c.Close()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				retrieve(t, c, &fetch.Request{URL: uri.MustParse(strings.ReplaceAll(tt.url, "$", addr)), Op: tt.op}, false)
			}()
			select {
			case <-ended:
			case <-time.After(12 * time.Second): // the drip does not end
				t.Error("it does not end")
			}
		})
	}
}

// repeat starts a server that sends a datagram every 50 milliseconds to the latest client, and
// returns its address.
func repeat(t *testing.T, say func(request []byte, cid uint16, n int) []byte) string {
	t.Helper()
	s, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		wg   sync.WaitGroup
		once sync.Once
		done = make(chan struct{})
	)
	t.Cleanup(func() { close(done); s.Close(); wg.Wait() })
	wg.Go(func() {
		b := make([]byte, 2<<10)
		for {
			n, from, err := s.ReadFrom(b)
			if err != nil {
				return
			}
			request := append([]byte(nil), b[:n]...)
			once.Do(func() {
				wg.Go(func() {
					h, _, _ := ardp.Parse(request)
					for i := 0; ; i++ {
						s.WriteTo(say(request, h.CID, i), from)
						select {
						case <-time.After(50 * time.Millisecond):
						case <-done:
							return
						}
					}
				})
			})
		}
	})
	return s.LocalAddr().String()
}
