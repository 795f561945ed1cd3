package http_test

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/http2"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// peak calls f and returns how far the live heap grew.
func peak(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, most := m.HeapAlloc, m.HeapAlloc
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return most - before
		case <-tick.C:
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
}

// TestMemory checks servers that send as much data as possible where a client must buffer. It measures
// the heap, including that of the servers, so it is not parallel. Without URLGET_LONG, they send less
// and the limit is lower.
func TestMemory(t *testing.T) {
	most, size := uint64(24<<20), 32 // size in MiB
	if fetchtest.IsLong() {
		most, size = 64<<20, 128
	}
	field := "X-Y: " + strings.Repeat("y", 4000) + "\r\n"
	flood := func(begin, piece string) func(testing.TB) (string, *fetch.Options) {
		return func(t testing.TB) (string, *fetch.Options) {
			return respondWith(t, func(conn net.Conn) {
				if _, err := io.WriteString(conn, begin); err != nil {
					return
				}
				for range size << 20 / len(piece) {
					if _, err := io.WriteString(conn, piece); err != nil {
						return
					}
				}
			}), &fetch.Options{}
		}
	}
	framed := func(serve func(p *peer, stream uint32)) func(testing.TB) (string, *fetch.Options) {
		return func(t testing.TB) (string, *fetch.Options) {
			u, o, _ := frames(t, func(p *peer, stream uint32) bool {
				serve(p, stream)
				return false
			})
			return u, o
		}
	}
	coded := func(coding string, content []byte) func(testing.TB) (string, *fetch.Options) {
		return func(t testing.TB) (string, *fetch.Options) { return serveCoded(t, coding, content), &fetch.Options{} }
	}
	entry := block("x-long", strings.Repeat("y", 4000))  // is added to the table
	reference := bytes.Repeat([]byte{0x80 | 62}, 15<<10) // repeated references to that entry
	zeros := make([]byte, 1<<20)
	brotliBomb := func(w io.Writer) io.WriteCloser {
		return brotli.NewWriterOptions(w, brotli.WriterOptions{Quality: 2, LGWin: 24})
	}
	zstdBomb := func(w io.Writer) io.WriteCloser {
		z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8<<20))
		return z
	}
	bomb := func(n int, layers ...func(io.Writer) io.WriteCloser) []byte {
		var b bytes.Buffer
		w := io.Writer(&b)
		var closers []io.Closer
		for _, l := range layers {
			c := l(w)
			closers = append(closers, c)
			w = c
		}
		for range n {
			w.Write(zeros)
		}
		for i := len(closers) - 1; i >= 0; i-- {
			closers[i].Close()
		}
		return b.Bytes()
	}
	// overrun is closed when the client has ended the connection. The client must not read before,
	// because each read increases the window.
	overrun := make(chan struct{})
	waits := map[string]<-chan struct{}{"more than the window": overrun}
	tests := map[string]struct {
		start func(testing.TB) (string, *fetch.Options)
		code  fetch.Code
	}{
		"status line without end":     {flood("HTTP/1.1 200 ", strings.Repeat("x", 64<<10)), fetch.ErrProtocol},
		"fields without end":          {flood("HTTP/1.1 200 OK\r\n", field), fetch.ErrProtocol},
		"informational answers":       {flood("", "HTTP/1.1 103 Early Hints\r\n"+field+"\r\n"), fetch.ErrProtocol},
		"trailer without end":         {flood("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", field), fetch.ErrTruncated},
		"size of a chunk without end": {flood("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", strings.Repeat("x", 64<<10)), fetch.ErrProtocol},
		"error page without end":      {flood("HTTP/1.1 404 Not Found\r\n\r\n", strings.Repeat("x", 64<<10)), fetch.ErrNotFound},
		"long body":                   {flood("HTTP/1.0 200 OK\r\n\r\n", strings.Repeat("x", 64<<10)), ""},
		"continuations without end": {framed(func(p *peer, stream uint32) {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block(":status", "200")})
			for p.WriteContinuation(stream, false, entry) == nil {
			}
		}), fetch.ErrProtocol},
		"references to one long field": {framed(func(p *peer, stream uint32) {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: append(block(":status", "200"), entry...)})
			for p.WriteContinuation(stream, false, reference) == nil {
			}
		}), fetch.ErrProtocol},
		"one field of many frames": {framed(func(p *peer, stream uint32) {
			// A literal that announces 256 MiB.
			begin := append(block(":status", "200"), 0x00, 1, 'x', 0x7f, 0x81, 0xff, 0xff, 0x7f)
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: begin})
			for p.WriteContinuation(stream, false, zeros[:16<<10]) == nil {
			}
		}), fetch.ErrProtocol},
		"informational answers, h2": {framed(func(p *peer, stream uint32) {
			for p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, EndHeaders: true,
				BlockFragment: append(block(":status", "103"), entry[:len(entry):len(entry)]...)}) == nil {
			}
		}), fetch.ErrProtocol},
		"settings": {framed(func(p *peer, _ uint32) {
			go io.Copy(io.Discard, p.conn)
			for range 800 * size {
				if p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}) != nil {
					return
				}
			}
		}), fetch.ErrNetwork},
		"more than the window": {framed(func(p *peer, stream uint32) {
			p.header(stream, false, ":status", "200")
			for p.WriteData(stream, false, zeros[:16<<10]) == nil {
			}
			close(overrun)
		}), fetch.ErrTruncated},
		"gzip":                      {coded("gzip", encode(t, "gzip", make([]byte, size<<20))), ""},
		"brotli":                    {coded("br", bomb(size, brotliBomb)), ""},
		"zstd":                      {coded("zstd", bomb(size, zstdBomb)), ""},
		"the largest windows":       {coded("br, br, br, br", bomb(size/4, brotliBomb, brotliBomb, brotliBomb, brotliBomb)), ""},
		"the largest windows, zstd": {coded("zstd, zstd, zstd, zstd", bomb(size/4, zstdBomb, zstdBomb, zstdBomb, zstdBomb)), ""},
	}
	runtime.GC()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u, o := tt.start(t)
			c := newClient(t, o, urlhttp.Options{Compressed: true})
			var err error
			grown := peak(func() {
				var resp *fetch.Response
				if resp, err = c.Get(t.Context(), u); err == nil {
					if wait := waits[name]; wait != nil {
						<-wait
					}
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			})
			if fetch.CodeOf(err) != tt.code || grown > most {
				t.Errorf("%d MiB, %v", grown>>20, err)
			}
		})
	}
}
