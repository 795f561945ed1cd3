// Package tftpd is a TFTP server for tests, which sends files and takes none. It can lack options,
// lose and double packets, and fails on request.
package tftpd

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/tftp"
)

// Options say what a server has and how it behaves.
type Options struct {
	// Tree holds the files. Nil means none.
	Tree fs.FS
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
	// Without are names of options that it does not know, in lower case; "*" stands for all.
	Without []string
	// Refuse refuses requests with options; Ignore drops them.
	Refuse, Ignore bool
	// OnePort sends all from the port that it listens on, for one transfer at a time.
	OnePort bool
	// SkipZero makes 1 the number of the block that follows number 65535.
	SkipZero bool
	// Lose, if not nil, reports whether packet number n of a transfer, counted from 0, is lost on
	// its way to the client.
	Lose func(n int) bool
	// Twice sends each packet twice.
	Twice bool
	// Patience is the time until a packet is sent again; 0 means 100 milliseconds.
	Patience time.Duration
}

// A Server is a running server. Its content, for faults, is files. Faults strike between two
// blocks: Cut and Stall send nothing more, which is the same in UDP; Short makes an empty block the
// last one.
type Server struct {
	*servers.Server
	opts Options
	wg   sync.WaitGroup

	mu     sync.Mutex
	active map[string]bool // the transfers that run: the address of the client and the file
}

// Start starts a server until the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server until Close.
func New(opts Options) (*Server, error) {
	if opts.Tree == nil {
		opts.Tree = embed.FS{}
	}
	if opts.Patience == 0 {
		opts.Patience = 100 * time.Millisecond
	}
	base, err := servers.ListenPacket(servers.Config{Scheme: "tftp", Listen: opts.Listen,
		Cannot: []servers.Fault{servers.Reset, servers.HalfClose, servers.Split}})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts, active: make(map[string]bool)}
	base.ServePackets(s.listen)
	return s, nil
}

// occupy notes that a transfer runs. It reports false if it does already: the request for it has
// come again.
func (s *Server) occupy(transfer string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[transfer] {
		return false
	}
	s.active[transfer] = true
	return true
}

func (s *Server) release(transfer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, transfer)
}

// listen begins a transfer for each request.
func (s *Server) listen(p *servers.Packets) {
	defer s.wg.Wait()
	buf := make([]byte, 4096)
	for {
		n, from, err := p.ReadFrom(buf)
		if err != nil {
			return
		}
		request, err := tftp.Parse(buf[:n])
		if err != nil || request.Op != tftp.Read || s.opts.Ignore && len(request.Options) > 0 {
			continue
		}
		transferOf := from.String() + " " + request.File
		if !s.occupy(transferOf) {
			continue
		}
		p.Note(request.File)
		if s.opts.OnePort {
			t := &transfer{s: s, p: p, conn: p, to: from, request: request}
			t.run()
			s.release(transferOf)
			continue
		}
		host, _, _ := net.SplitHostPort(p.LocalAddr().String())
		conn, err := net.ListenPacket("udp", net.JoinHostPort(host, "0"))
		if err != nil {
			s.release(transferOf)
			continue
		}
		s.wg.Go(func() {
			over := make(chan struct{})
			s.wg.Go(func() {
				select {
				case <-p.Done():
				case <-over:
				}
				conn.Close()
			})
			defer close(over)
			defer s.release(transferOf)
			t := &transfer{s: s, p: p, conn: conn, to: from, request: request}
			t.run()
		})
	}
}

// A transfer is one file on its way.
type transfer struct {
	s       *Server
	p       *servers.Packets
	conn    net.PacketConn
	to      net.Addr
	request tftp.Packet

	block, window int
	packets       int // sent so far
	buf           [4096]byte
}

func (t *transfer) send(p tftp.Packet) {
	b := p.Encode()
	for range 2 {
		t.packets++
		if t.s.opts.Lose == nil || !t.s.opts.Lose(t.packets-1) {
			t.conn.WriteTo(b, t.to)
		}
		if !t.s.opts.Twice {
			return
		}
	}
}

// errOver ends a transfer of which the client wants no more.
var errOver = errors.New("tftpd: over")

// await returns the next acknowledgement, or os.ErrDeadlineExceeded.
func (t *transfer) await(patience time.Duration) (uint16, error) {
	t.conn.SetReadDeadline(time.Now().Add(patience))
	defer t.conn.SetReadDeadline(time.Time{})
	for {
		n, from, err := t.conn.ReadFrom(t.buf[:])
		if err != nil {
			return 0, err
		}
		p, err := tftp.Parse(t.buf[:n])
		switch {
		case from.String() != t.to.String() || err != nil:
		case p.Op == tftp.Error:
			return 0, errOver
		case p.Op == tftp.Ack:
			return p.Block, nil
		}
	}
}

// maxRepeats is how often a packet is sent again.
const maxRepeats = 30

func (t *transfer) run() {
	content, err := fs.ReadFile(t.s.opts.Tree, strings.Trim(t.request.File, "/"))
	switch {
	case err != nil:
		t.send(tftp.Packet{Op: tftp.Error, Code: tftp.NotFound, Text: "File not found"})
		return
	case t.s.opts.Refuse && len(t.request.Options) > 0:
		t.send(tftp.Packet{Op: tftp.Error, Code: tftp.OptionsRefused, Text: "no options"})
		return
	}
	failure := t.p.Take(t.request.File, true)
	if failure.Fault == servers.Noise {
		t.conn.WriteTo([]byte("\x00\xff no packet\r\n"), t.to)
		return
	}
	if t.request.Mode == "netascii" {
		content = bytes.ReplaceAll(content, []byte("\r"), []byte("\r\x00"))
		content = bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n"))
	}
	t.block, t.window = tftp.DefaultBlock, 1
	if granted := t.options(len(content)); len(granted) > 0 && !t.grant(granted) {
		return
	}
	t.blocks(content, failure)
}

// options returns the options that are granted.
func (t *transfer) options(size int) (granted []tftp.Option) {
	for _, o := range t.request.Options {
		value, err := strconv.Atoi(o.Value)
		known := err == nil
		for _, name := range t.s.opts.Without {
			known = known && name != o.Name && name != "*"
		}
		switch {
		case !known:
			continue
		case o.Name == "tsize":
			o.Value = strconv.Itoa(size)
		case o.Name == "blksize":
			t.block = value
		case o.Name == "windowsize":
			t.window = value
		default:
			continue
		}
		granted = append(granted, o)
	}
	return granted
}

// grant sends the options until the client has them.
func (t *transfer) grant(options []tftp.Option) bool {
	for range maxRepeats {
		t.send(tftp.Packet{Op: tftp.OAck, Options: options})
		for {
			n, err := t.await(t.s.opts.Patience)
			if err == nil && n == 0 {
				return true
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return false
			}
		}
	}
	return false
}

// blocks sends the content.
func (t *transfer) blocks(content []byte, f servers.Failure) {
	total := len(content)/t.block + 1 // the last one is not full
	strike := -1                      // the block in which the fault strikes; none
	if f.Fault != servers.None && f.Fault != servers.Drip {
		strike = int(f.Place(int64(len(content))))/t.block + 1
		if f.After == 0 && strike > 1 {
			strike = min(strike, total-1)
		}
		if strike == 1 && f.After >= 0 && total > 1 {
			strike = 2 // something comes before
		}
	}
	acked, repeats := 0, 0 // blocks, and times nothing new came
	for acked < total {
		for i := acked + 1; i <= min(acked+t.window, total); i++ {
			if i == strike || f.Fault == servers.Endless && i == total {
				switch f.Fault {
				case servers.Cut, servers.Stall:
					return
				case servers.Abort:
					t.send(tftp.Packet{Op: tftp.Error, Code: tftp.DiskFull, Text: "Enough"})
					return
				case servers.Short:
					total = i
					content = content[:(i-1)*t.block]
				case servers.Endless:
					content = append(content, bytes.Repeat([]byte("x"), 64*t.block)...)
					total = len(content)/t.block + 1
				}
			}
			if f.Fault == servers.Drip && !t.pause(f) {
				return
			}
			t.send(tftp.Packet{Op: tftp.Data, Block: t.number(i), Data: content[(i-1)*t.block : min(i*t.block, len(content))]})
		}
		n, err := t.await(t.s.opts.Patience)
		for err == nil { // acknowledgements of what was acknowledged repeat nothing
			if i := t.ahead(acked, n); i > 0 {
				acked, repeats = acked+i, 0
				break
			}
			n, err = t.await(t.s.opts.Patience)
		}
		if err != nil {
			if repeats++; !errors.Is(err, os.ErrDeadlineExceeded) || repeats > maxRepeats {
				return
			}
		}
	}
}

// number is what the packet of block i has for a number.
func (t *transfer) number(i int) uint16 {
	if t.s.opts.SkipZero && i > math.MaxUint16 {
		return uint16((i-1)%math.MaxUint16 + 1)
	}
	return uint16(i)
}

// ahead returns how many blocks behind block acked the one with the number is; 0 if it is none of
// the window.
func (t *transfer) ahead(acked int, number uint16) int {
	for i := 1; i <= t.window; i++ {
		if t.number(acked+i) == number {
			return i
		}
	}
	return 0
}

func (t *transfer) pause(f servers.Failure) bool {
	wait := f.Every
	if wait == 0 {
		wait = 50 * time.Millisecond
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.p.Done():
		return false
	}
}
