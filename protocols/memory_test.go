package protocols_test

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
)

// TestEndlessAnswersTakeLittleMemory floods every conversation at its beginning and in its middle,
// with an endless line, with endless lines, and with valid elements of the protocol. It is not
// parallel, because it measures the heap.
func TestEndlessAnswersTakeLittleMemory(t *testing.T) {
	fetchtest.Long(t) // reads gigabytes
	if raceDetector {
		t.Skip("the race detector has a heap of its own, and takes a minute")
	}
	const most, flood, pieces = 32 << 20, 48 << 20, 1 << 20
	line := strings.Repeat("x", 62) + "\r\n"
	all, client := sites(t)
	for name, tt := range all {
		if tt.session {
			continue // sessions are not stored
		}
		u := uri.MustParse(tt.url)
		try := func(n *floodingNetwork) {
			o := &fetch.Options{DialContext: n.dial, Timeouts: fetch.Timeouts{Connect: 5 * time.Second, Reply: 5 * time.Second, Idle: 5 * time.Second}}
			c := client(u.Scheme(), o)
			defer c.Close()
			consume(t, c, &fetch.Request{URL: u, Op: tt.op})
		}
		whole := &floodingNetwork{from: 1 << 62}
		try(whole)
		for _, from := range []int64{0, whole.passed.Load() / 2} {
			for _, say := range append([]string{"x", line}, tt.says...) {
				t.Run(name, func(t *testing.T) {
					left := int64(flood)
					if strings.HasSuffix(say, "\n") {
						left = min(left, pieces*int64(len(say)))
					}
					fetchtest.LiveHeap(t, most, func() { try(&floodingNetwork{from: from, say: say, left: left}) })
				})
			}
		}
	}
}

// consume reads a resource to its end and discards the data.
func consume(t *testing.T, c *fetch.Client, req *fetch.Request) {
	resp, err := c.Do(t.Context(), req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if req.Op != fetch.OpList || resp.Entries == nil {
		io.Copy(io.Discard, resp.Body)
		return
	}
	for _, err := range resp.Entries {
		if err != nil {
			return
		}
	}
}

// A floodingNetwork passes a number of bytes, over all connections together. Then each connection
// repeats the flood as fast as the client reads.
type floodingNetwork struct {
	from   int64
	say    string
	left   int64
	passed atomic.Int64
}

func (n *floodingNetwork) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if _, err := netip.ParseAddrPort(addr); err != nil {
		return nil, err
	}
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	flood := ""
	if n.say != "" {
		flood = strings.Repeat(n.say, max(1, 32<<10/len(n.say)))
	}
	return &floodingConn{Conn: c, network: n, flood: flood, left: n.left}, nil
}

type floodingConn struct {
	net.Conn
	network *floodingNetwork
	flood   string
	at      int // in flood
	left    int64
}

func (c *floodingConn) Read(p []byte) (int, error) {
	room := c.network.from - c.network.passed.Load()
	if room > 0 {
		n, err := c.Conn.Read(p[:min(int64(len(p)), room)])
		c.network.passed.Add(int64(n))
		return n, err
	}
	if c.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) {
		m := copy(p[n:], c.flood[c.at:])
		n += m
		c.at = (c.at + m) % len(c.flood)
	}
	c.left -= int64(n)
	return n, nil
}
