// Package tftpd is a TFTP server for tests. It sends files, but does not receive any. It can refuse
// options, lose and duplicate packets, and fail on request.
package tftpd

import (
	"bytes"
	"cmp"
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

// Options configure a server.
type Options struct {
	// Tree holds the files. Nil means no files.
	Tree fs.FS
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
	// Without lists options, in lower case, that the server ignores. "*" means all.
	Without []string
	// Refuse refuses requests with options; Ignore ignores their options.
	Refuse, Ignore bool
	// RefuseWith is the error code of a refusal (RFC 1350, RFC 2347). 0 is valid; nil means 8.
	RefuseWith *uint16
	// OnePort sends from the listening port, which allows one transfer at a time.
	OnePort bool
	// SkipZero numbers the block after 65535 as 1, not 0.
	SkipZero bool
	// Lose, if not nil, reports whether packet n of a transfer, counted from 0, is lost.
	Lose func(n int) bool
	// Twice sends each packet twice.
	Twice bool
	// Patience is the time before a packet is sent again. 0 means 100 milliseconds.
	Patience time.Duration
}

// A Server is a running TFTP server. Faults apply to files and occur between two blocks. Cut and
// Stall both stop sending. Short makes an empty block the last one.
type Server struct {
	*servers.Server
	opts Options
	wg   sync.WaitGroup

	mu     sync.Mutex
	active map[string]bool // current transfers: client address and file
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close.
func New(opts Options) (*Server, error) {
	opts.Tree = cmp.Or[fs.FS](opts.Tree, embed.FS{})
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

// occupy records a transfer. It returns false for a repeated request, whose transfer has started
// already.
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

// listen starts a transfer for each request.
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

// A transfer sends one file.
type transfer struct {
	s       *Server
	p       *servers.Packets
	conn    net.PacketConn
	to      net.Addr
	request tftp.Packet

	block, window int
	packets       int // number of packets sent
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

// errAborted ends a transfer that the client has aborted.
var errAborted = errors.New("tftpd: over")

// await returns the number of the next acknowledgment, or os.ErrDeadlineExceeded.
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
			return 0, errAborted
		case p.Op == tftp.Ack:
			return p.Block, nil
		}
	}
}

// maxRepeats limits the retransmissions of a packet.
const maxRepeats = 100

func (t *transfer) run() {
	content, err := fs.ReadFile(t.s.opts.Tree, strings.Trim(t.request.File, "/"))
	switch {
	case err != nil:
		t.send(tftp.Packet{Op: tftp.Error, Code: tftp.NotFound, Text: "File not found"})
		return
	case t.s.opts.Refuse && len(t.request.Options) > 0:
		code := uint16(tftp.OptionsRefused)
		if with := t.s.opts.RefuseWith; with != nil {
			code = *with
		}
		t.send(tftp.Packet{Op: tftp.Error, Code: code, Text: "no options"})
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

// options returns the accepted options.
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

// grant sends the accepted options until the client acknowledges them.
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
	total := len(content)/t.block + 1 // the last block is not full
	strike := -1                      // index of the block with the fault, or -1
	if f.Fault != servers.None && f.Fault != servers.Drip {
		strike = int(f.Place(int64(len(content))))/t.block + 1
		if f.After == 0 && strike > 1 {
			strike = min(strike, total-1)
		}
		if strike == 1 && f.After >= 0 && total > 1 {
			strike = 2 // after the first block
		}
	}
	acked, repeats := 0, 0 // acknowledged blocks, and timeouts without progress
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
			t.send(tftp.Packet{Op: tftp.Data, Block: t.number(i),
				Data: content[(i-1)*t.block : min(i*t.block, len(content))]})
		}
		n, err := t.await(t.s.opts.Patience)
		for err == nil { // ignore duplicate acknowledgments (RFC 1123, section 4.2.3.1)
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

// number returns the block number in the packet of block i.
func (t *transfer) number(i int) uint16 {
	if t.s.opts.SkipZero && i > math.MaxUint16 {
		return uint16((i-1)%math.MaxUint16 + 1)
	}
	return uint16(i)
}

// ahead returns the distance from block acked to the block with this number. It returns 0 for a
// block outside the window.
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
