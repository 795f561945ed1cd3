package http_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
)

// A peer is one connection of a server that sends frames.
type peer struct {
	*http2.Framer
	conn net.Conn
	n    int64 // of the connection, from 1
}

// header sends the head of a response on a stream.
func (p *peer) header(stream uint32, end bool, fields ...string) error {
	return p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block(fields...), EndHeaders: true, EndStream: end})
}

// block encodes names and values.
func block(fields ...string) []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

// frames starts an HTTP/2 server that calls serve for each new stream. A connection ends when serve
// returns false or the client closes it.
func frames(t testing.TB, serve func(p *peer, stream uint32) bool) (rawURL string, o *fetch.Options, conns *atomic.Int64) {
	t.Helper()
	server, o, conns := frameServer(serve)
	return "https" + serveConns(t, server)[len("http"):], o, conns
}

// frameServer returns the function that serves a connection of frames.
func frameServer(serve func(p *peer, stream uint32) bool) (server func(net.Conn), o *fetch.Options, conns *atomic.Int64) {
	serverTLS, clientTLS := servers.Certificate()
	serverTLS.NextProtos = []string{"h2"}
	conns = new(atomic.Int64)
	return func(raw net.Conn) {
		conn := tls.Server(raw, serverTLS)
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		p := &peer{Framer: http2.NewFramer(conn, conn), conn: conn, n: conns.Add(1)}
		p.WriteSettings()
		for {
			f, err := p.ReadFrame()
			if err != nil {
				return
			}
			if h, ok := f.(*http2.HeadersFrame); ok && !serve(p, h.StreamID) {
				return
			}
		}
	}, &fetch.Options{TLS: clientTLS}, conns
}
