package tftp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/tftpd"
	"github.com/urlget/urlget/internal/codec/tftp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick has short retransmission intervals, for servers on the same machine.
var quick = With(Options{First: 20 * time.Millisecond, Tries: 8})

// patient is for transfers that must succeed, also on a slow machine.
var patient = With(Options{First: time.Second, Tries: 8})

// steady has longer intervals. If a slow machine repeated a request, the fault could affect an
// abandoned transfer. After a cut the retransmissions take 3 seconds.
var steady = With(Options{First: time.Second, Tries: 1})

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]tftpd.Options{
		"options": {},
		"none":    {Without: []string{"*"}},
		"refused": {Refuse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fetchtest.Run(t, fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
				opts.Tree = tree
				s := tftpd.Start(t, opts)
				return fetchtest.Site{
					Load: steady,
					URL: func(name string) string {
						if info, err := fs.Stat(tree, name); err == nil && info.IsDir() {
							return "" // there are no directories
						}
						return s.URL + "/" + strings.ReplaceAll(uri.Escape(name), "%2F", "/")
					},
					Log:   s.Log,
					Fault: s.Fail,
					Can:   s.Can,
				}
			}})
		})
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, nil, Load)
	for url, want := range map[string]string{
		"tftp://h.example/a/b":                               `send RRQ "a/b" octet`,
		"tftp://h.example//a":                                `send RRQ "/a" octet`,
		"tftp://h.example/a;mode=octet":                      `send RRQ "a" octet`,
		"tftp://h.example/a%20b;MODE=NetASCII":               `send RRQ "a b" netascii`,
		"tftp://h.example/a;b":                               `send RRQ "a;b" octet`,
		"tftp://h.example/a%3Bmode=netascii":                 `send RRQ "a;mode=netascii" octet`,
		"tftp://h.example/a?b":                               `send RRQ "a?b" octet`,
		"tftp://h.example/a;mode=mail":                       "",
		"tftp://h.example/":                                  "",
		"tftp://h.example":                                   "",
		"tftp:a":                                             "",
		"tftp://joe@h.example/a":                             "",
		"tftp://h.example/a%00b":                             "",
		"tftp://h.example/" + strings.Repeat("x", maxName+1): "",
	} {
		x, err := c.Explain(&fetch.Request{URL: uri.MustParse(url)})
		if want == "" && fetch.CodeOf(err) != fetch.ErrURL {
			t.Errorf("%s: error %v, want one of class %q", url, err, fetch.ErrURL)
		}
		if want != "" && (err != nil || x.Steps[0] != want+` "tsize"="0" "blksize"="1428" "windowsize"="16"`) {
			t.Errorf("%s: %q, %v, want %q", url, x.Steps, err, want)
		}
	}
}

// content returns n bytes in which no two blocks are equal.
func content(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString("line " + string(rune('a'+i%26)) + strings.Repeat("x", i%61) + "\n")
	}
	return b.String()[:n]
}

func TestServerVariants(t *testing.T) {
	t.Parallel()
	want := content(100*maxBlock + 7)
	var lost atomic.Bool
	for name, opts := range map[string]tftpd.Options{
		"loses":              {Lose: func(n int) bool { return n%11 == 3 }},
		"loses, no window":   {Lose: func(n int) bool { return n%7 == 2 }, Without: []string{"windowsize"}},
		"loses the options":  {Lose: func(int) bool { return lost.CompareAndSwap(false, true) }},
		"doubles":            {Twice: true},
		"doubles, no window": {Twice: true, Without: []string{"windowsize"}},
		"doubles and loses":  {Twice: true, Lose: func(n int) bool { return n%5 == 0 }},
		"no size":            {Without: []string{"tsize"}},
		"no block size":      {Without: []string{"blksize"}},
		"no options":         {Without: []string{"*"}},
		"refuses options":    {Refuse: true},
		"refuses vaguely":    {Refuse: true, RefuseWith: new(uint16)},
		"drops options":      {Ignore: true},
		"one port":           {OnePort: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.Tree = fstest.MapFS{"f.txt": {Data: []byte(want)}, "full": {Data: []byte(want[:maxBlock*16])}, "empty": {}}
			opts.Patience = 30 * time.Millisecond
			s := tftpd.Start(t, opts)
			c := drive.Client(t, nil, quick)
			for file, want := range map[string]string{"f.txt": want, "full": want[:maxBlock*16], "empty": ""} {
				resp, err := c.Get(t.Context(), s.URL+"/"+file)
				got, err := drive.Read(resp, err)
				if err != nil || got != want {
					t.Errorf("%s: %d bytes of %d, %v", file, len(got), len(want), err)
				}
			}
			drive.Fails(t, c, s.URL+"/none", fetch.ErrNotFound)
		})
	}
}

// TestStatReturnsTheSize is not parallel, because an abandoned transfer may continue to a port that another
// client uses.
func TestStatReturnsTheSize(t *testing.T) {
	tree := fstest.MapFS{"f.txt": {Data: []byte(content(1000))}, "small": {Data: []byte("small")}}
	for _, tt := range []struct {
		opts  tftpd.Options
		file  string
		size  int64
		media string
	}{
		{tftpd.Options{}, "f.txt", 1000, "text/plain"},
		{tftpd.Options{Without: []string{"*"}}, "f.txt", -1, "text/plain"},
		{tftpd.Options{Without: []string{"*"}}, "small", 5, "application/octet-stream"},
		{tftpd.Options{}, "small;mode=netascii", -1, "text/plain"},
	} {
		tt.opts.Tree = tree
		s := tftpd.Start(t, tt.opts)
		meta, err := drive.Client(t, nil, patient).Stat(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + "/" + tt.file)})
		if err != nil || meta.Size != tt.size || meta.ContentType != tt.media {
			t.Errorf("%+v: %+v, %v", tt, meta, err)
		}
	}
}

func TestNetASCIILineEndings(t *testing.T) {
	t.Parallel()
	want := "one\ntwo\rthree\n" + content(5000)
	s := tftpd.Start(t, tftpd.Options{Tree: fstest.MapFS{"f": {Data: []byte(want)}}})
	drive.Gets(t, drive.Client(t, nil, patient), s.URL+"/f;mode=netascii", want)
}

func TestBlockNumbersWrap(t *testing.T) {
	t.Parallel()
	const size = 8 // the smallest block
	want := content(66000*size + 1)
	for name, s := range map[string]wrappingServer{
		"with 0":     {},
		"with 1":     {skipZero: true},
		"in windows": {window: 16},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := &fetch.Options{ListenPacket: func(context.Context, string, string) (net.PacketConn, error) {
				conn := s
				conn.content, conn.block = want, size
				return &conn, nil
			}}
			got, err := drive.Get(t, drive.Client(t, opts, Load), "tftp://127.0.0.1:1069/f")
			if got != want || err != nil {
				t.Errorf("%d of %d bytes, %v", len(got), len(want), err)
			}
		})
	}
}

// A wrappingServer is a socket on which a server replies immediately. It sends blocks after each
// acknowledgement.
type wrappingServer struct {
	content  string
	block    int // bytes
	window   int // blocks; 0 means no option
	skipZero bool

	acked   int // blocks
	replies [][]byte
}

func (s *wrappingServer) WriteTo(b []byte, _ net.Addr) (int, error) {
	p, err := tftp.Parse(b)
	if err != nil {
		return 0, err
	}
	switch p.Op {
	case tftp.Read:
		options := []tftp.Option{{Name: "blksize", Value: strconv.Itoa(s.block)}}
		if s.window > 0 {
			options = append(options, tftp.Option{Name: "windowsize", Value: strconv.Itoa(s.window)})
		}
		s.replies = append(s.replies, tftp.Packet{Op: tftp.OAck, Options: options}.Encode())
	case tftp.Ack:
		if len(s.replies) > 0 || p.Block != s.number(s.acked) {
			return 0, fmt.Errorf("block %d was acknowledged after block %d, with %d not read", p.Block, s.acked, len(s.replies))
		}
		for range max(s.window, 1) {
			from := s.acked * s.block
			if from > len(s.content) {
				break
			}
			s.acked++
			data := s.content[from:min(from+s.block, len(s.content))]
			s.replies = append(s.replies, tftp.Packet{Op: tftp.Data, Block: s.number(s.acked), Data: []byte(data)}.Encode())
		}
	}
	return len(b), nil
}

// number returns the number of a block, counted from 1.
func (s *wrappingServer) number(block int) uint16 {
	if s.skipZero && block > math.MaxUint16 {
		return uint16((block-1)%math.MaxUint16 + 1)
	}
	return uint16(block)
}

func (s *wrappingServer) ReadFrom(b []byte) (int, net.Addr, error) {
	if len(s.replies) == 0 {
		return 0, nil, errors.New("the client waits for a block without an acknowledgement")
	}
	reply := s.replies[0]
	s.replies = s.replies[1:]
	return copy(b, reply), &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1069}, nil
}

func (s *wrappingServer) Close() error { return nil }
func (s *wrappingServer) LocalAddr() net.Addr {
	return &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}
}
func (s *wrappingServer) SetDeadline(time.Time) error      { return nil }
func (s *wrappingServer) SetReadDeadline(time.Time) error  { return nil }
func (s *wrappingServer) SetWriteDeadline(time.Time) error { return nil }

func TestBlockNumbersWrapOverSockets(t *testing.T) {
	t.Parallel()
	fetchtest.Long(t)
	want := content(66000*tftp.DefaultBlock + 1)
	tree := fstest.MapFS{"f": {Data: []byte(want)}}
	for name, opts := range map[string]tftpd.Options{
		"with 0":     {Tree: tree, Without: []string{"*"}},
		"with 1":     {Tree: tree, Without: []string{"*"}, SkipZero: true},
		"in windows": {Tree: tree, Without: []string{"blksize"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tftpd.Start(t, opts)
			patient := With(Options{First: 200 * time.Millisecond, Tries: 12}) // the server copies the content
			if got, err := drive.Get(t, drive.Client(t, nil, patient), s.URL+"/f"); got != want || err != nil {
				t.Errorf("%d of %d bytes, %v", len(got), len(want), err)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault   servers.Fault
		without []string
		want    fetch.Code
	}{
		{servers.Cut, nil, fetch.ErrTruncated},
		{servers.Short, nil, fetch.ErrTruncated}, // by the size
		{servers.Short, []string{"tsize"}, ""},   // cannot be detected without a size
		{servers.Abort, nil, fetch.ErrTruncated},
		{servers.Endless, nil, fetch.ErrProtocol}, // by the size
		{servers.Noise, nil, fetch.ErrProtocol},
		{servers.Drip, nil, ""},
	} {
		t.Run(tt.fault.String(), func(t *testing.T) {
			t.Parallel()
			load, patience := patient, 5*time.Second
			if tt.fault == servers.Cut { // the client must give up
				load, patience = quick, 0
			}
			s := tftpd.Start(t, tftpd.Options{Tree: fstest.MapFS{"f": {Data: []byte(content(50_000))}}, Without: tt.without, Patience: patience})
			s.Arm(servers.Failure{Fault: tt.fault, Every: time.Millisecond})
			if _, err := drive.Get(t, drive.Client(t, nil, load), s.URL+"/f"); fetch.CodeOf(err) != tt.want {
				t.Errorf("error %v, want one of class %q", err, tt.want)
			}
		})
	}
}

// replyServer starts a server that replies to the first request with these packets.
func replyServer(t *testing.T, packets ...string) (url string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 1000)
		for {
			_, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			for _, p := range packets {
				conn.WriteTo([]byte(p), from)
			}
			if len(packets) > 0 && !strings.HasPrefix(packets[0], "\x00\x05") { // repeat errors
				packets = nil
			}
		}
	}()
	return "tftp://" + conn.LocalAddr().String() + "/f"
}

func TestReplies(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]fetch.Error{
		"\x00\x05\x00\x00Busy":            {Code: fetch.ErrServer, Reply: fetch.Reply{Text: "Busy"}},
		"\x00\x05\x00\x02No":              {Code: fetch.ErrRefused, Reply: fetch.Reply{Code: 2, Text: "No"}},
		"\x00\x05\x00\x05?":               {Code: fetch.ErrNetwork, Retry: true, Reply: fetch.Reply{Code: 5, Text: "?"}},
		"\x00\x03\x00\x02data":            {Code: fetch.ErrProtocol, Retry: true},
		"\x00\x04\x00\x00":                {Code: fetch.ErrProtocol},
		"\x00":                            {Code: fetch.ErrProtocol},
		"\x00\x06blksize\x0065464\x00":    {Code: fetch.ErrProtocol},
		"\x00\x06blksize\x000\x00":        {Code: fetch.ErrProtocol},
		"\x00\x06windowsize\x0017\x00":    {Code: fetch.ErrProtocol},
		"\x00\x06tsize\x00-1\x00":         {Code: fetch.ErrProtocol},
		"\x00\x06tsize\x00many\x00":       {Code: fetch.ErrProtocol},
		"\x00\x06multicast\x00,,1\x00":    {Code: fetch.ErrProtocol},
		"\x00\x03\x00\x01" + content(513): {Code: fetch.ErrProtocol, Retry: true},
	} {
		t.Run(text[:min(len(text), 20)], func(t *testing.T) {
			t.Parallel()
			_, err := drive.Get(t, drive.Client(t, nil, patient), replyServer(t, text))
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != want.Code || e.Reply != want.Reply || e.Retry != want.Retry {
				t.Errorf("got %#v, want %#v", e, want)
			}
		})
	}
}

func TestSilentServer(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]*fetch.Options{
		"tries":   {Timeouts: fetch.Timeouts{Reply: -1}},
		"timeout": {Timeouts: fetch.Timeouts{Reply: 50 * time.Millisecond}},
	} {
		tries := 3
		if name == "timeout" {
			tries = 1000
		}
		c := drive.Client(t, opts, With(Options{First: 10 * time.Millisecond, Tries: tries}))
		if _, err := drive.Get(t, c, replyServer(t)); fetch.CodeOf(err) != fetch.ErrNetwork {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTransferStaysOnTheFirstPort(t *testing.T) {
	t.Parallel()
	var sockets [2]net.PacketConn
	for i := range sockets {
		conn, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		sockets[i] = conn
	}
	buf := make([]byte, 1000)
	done := make(chan string, 1)
	go func() {
		_, from, _ := sockets[0].ReadFrom(buf)
		sockets[0].WriteTo([]byte("\x00\x03\x00\x01"+content(512)), from)
		sockets[0].ReadFrom(buf) // the acknowledgement
		sockets[1].WriteTo([]byte("\x00\x03\x00\x02evil"), from)
		n, _, _ := sockets[1].ReadFrom(buf)
		done <- string(buf[:n])
		sockets[0].WriteTo([]byte("\x00\x03\x00\x02good"), from)
	}()
	got, err := drive.Get(t, drive.Client(t, nil, patient), "tftp://"+sockets[0].LocalAddr().String()+"/f")
	if got != content(512)+"good" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if reply := <-done; !strings.HasPrefix(reply, "\x00\x05\x00\x05") {
		t.Errorf("the other port got %q, want an error of code 5", reply)
	}
}

func TestAddressesAreCheckedAndProxiesRefused(t *testing.T) {
	t.Parallel()
	s := tftpd.Start(t, tftpd.Options{Tree: fstest.MapFS{"f": {Data: []byte("x")}}})
	no := errors.New("no")
	for name, opts := range map[string]*fetch.Options{
		"address": {Policy: &fetch.Policy{CheckAddr: func(uri.URI, netip.AddrPort) error { return no }}},
		"proxy":   {Proxy: func(uri.URI) (uri.URI, error) { return uri.MustParse("socks5://127.0.0.1:1"), nil }},
	} {
		if _, err := drive.Get(t, drive.Client(t, opts, quick), s.URL+"/f"); fetch.CodeOf(err) != fetch.ErrPolicy {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := s.Log(); len(got) > 0 {
		t.Errorf("the server got %q", got)
	}
}

func TestLateRefusalOfOptions(t *testing.T) {
	t.Parallel()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	defer func() { conn.Close(); <-done }()
	go func() {
		defer close(done)
		buf := make([]byte, 1000)
		refused := false // the client has sent a request without options
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			plain := !strings.Contains(string(buf[:n]), "tsize")
			switch {
			case plain && !refused:
				refused = true
				conn.WriteTo([]byte("\x00\x05\x00\x08no options\x00"), from)
			case plain:
				conn.WriteTo([]byte("\x00\x03\x00\x01content"), from)
			}
		}
	}()
	drive.Gets(t, drive.Client(t, nil, quick), "tftp://"+conn.LocalAddr().String()+"/f", "content")
}
