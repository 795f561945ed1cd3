package http3_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/quic-go/qpack"
	"github.com/quic-go/quic-go"
	quichttp3 "github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/http/http3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// over loads the driver with HTTP/3.
var over = urlhttp.With(urlhttp.Options{QUIC: http3.OverPatiently})

// options returns the options of a client that trusts the servers of these tests.
func options() *fetch.Options {
	_, clientTLS := servers.Certificate()
	return &fetch.Options{TLS: clientTLS}
}

func newClient(t testing.TB, o *fetch.Options) *fetch.Client {
	t.Helper()
	if o == nil {
		o = options()
	}
	c := drive.Client(t, o, over)
	return c
}

// udp returns a socket on loopback.
func udp(t testing.TB) *net.UDPConn {
	t.Helper()
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	return socket
}

// serve starts quic-go's server on a socket.
func serve(t testing.TB, socket net.PacketConn, h http.Handler) (rawURL string) {
	t.Helper()
	serverTLS, _ := servers.Certificate()
	srv := &quichttp3.Server{Handler: h, TLSConfig: quichttp3.ConfigureTLSConfig(serverTLS)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(socket)
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
	return "https://" + socket.LocalAddr().String()
}

// A peer is one connection of a server that sends frames.
type peer struct {
	*quic.Conn
	n int // of the connection, from 1
}

// frames starts a QUIC server that calls begin for each connection, and answer for each request
// after its head has arrived.
func frames(t testing.TB, begin func(*peer), answer func(p *peer, s *quic.Stream)) (rawURL string) {
	t.Helper()
	serverTLS, _ := servers.Certificate()
	serverTLS.NextProtos = []string{"h3"}
	tr := &quic.Transport{Conn: udp(t)}
	l, err := tr.Listen(serverTLS, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	go func() {
		for n := 1; ; n++ {
			c, err := l.Accept(context.Background())
			if err != nil {
				return
			}
			go serveFrames(&peer{c, n}, begin, answer)
		}
	}()
	return "https://" + l.Addr().String()
}

func serveFrames(p *peer, begin func(*peer), answer func(p *peer, s *quic.Stream)) {
	defer p.CloseWithError(0x100, "bye")
	if begin != nil {
		begin(p)
	} else {
		control(p, 0x4, "")
	}
	for {
		s, err := p.AcceptStream(p.Context())
		if err != nil {
			return
		}
		src := bufio.NewReader(s)
		quicvarint.Read(src)
		length, err := quicvarint.Read(src)
		if err != nil {
			return
		}
		io.CopyN(io.Discard, src, int64(length))
		go answer(p, s)
	}
}

// control opens the control stream and sends frames.
func control(p *peer, kind uint64, payload string) *quic.SendStream {
	s, err := p.OpenUniStream()
	if err != nil {
		return nil
	}
	s.Write(append([]byte{0x0}, frame(kind, payload)...))
	return s
}

func frame(kind uint64, payload string) []byte {
	b := quicvarint.Append(quicvarint.Append(nil, kind), uint64(len(payload)))
	return append(b, payload...)
}

// head is a frame of names and values.
func head(fields ...string) []byte { return frame(0x1, block(fields...)) }

func block(fields ...string) string {
	var b bytes.Buffer
	enc := qpack.NewEncoder(&b)
	for i := 0; i+1 < len(fields); i += 2 {
		enc.WriteField(qpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.String()
}

func data(text string) []byte { return frame(0x0, text) }

// tcp starts a server of HTTP/1.1 and HTTP/2 at an address.
func tcp(t testing.TB, addr string, h http.Handler) {
	t.Helper()
	serverTLS, _ := servers.Certificate()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skip("the port of the UDP socket is taken for TCP: " + err.Error())
	}
	srv := &http.Server{Handler: h, TLSConfig: serverTLS}
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.ServeTLS(l, "", "")
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
}

// protocols records the protocols of a client's responses.
func protocols(o *fetch.Options) *[]string {
	list := new([]string)
	o.Recorder = fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording {
		now := "tcp"
		return &fetch.Recording{
			Peer: func(_ int, _ net.Addr, state *tls.ConnectionState) {
				if state != nil {
					now = state.NegotiatedProtocol
				}
			},
			Response: func(*fetch.Response) { *list = append(*list, now) },
		}
	})
	return list
}
