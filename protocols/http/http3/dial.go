package http3

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/urlget/urlget/fetch"
)

const (
	// handshakeTimeout limits the handshake, which needs one round trip. Many networks drop all QUIC
	// packets.
	handshakeTimeout = time.Second
	// defaultIdle limits the silence of a peer if the client has no idle timeout. The peer is
	// pinged during that time.
	defaultIdle = 30 * time.Second
	// maxServerStreams exceeds the control stream and the two of QPACK (RFC 9114, section 6.2).
	maxServerStreams = 16
	// maxHead limits the head of a response, compressed and uncompressed, in bytes.
	maxHead = 256 << 10
)

func (t *transport) dial(ctx context.Context, key connKey) (*conn, error) {
	socket, err := t.env.Dial(ctx, "udp", key.addr)
	if err != nil {
		return nil, err
	}
	cfg := t.env.TLSConfig(ctx, key.origin.host)
	cfg.NextProtos = []string{"h3"}
	cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS13) // RFC 9001, section 4.2
	c, err := handshake(ctx, socket, cfg, t.handshakeTimeout, t.env.Timeouts())
	if err != nil {
		socket.Close()
		return nil, err
	}
	c.key = key
	return c, nil
}

func handshake(
	ctx context.Context, socket *fetch.Conn, cfg *tls.Config, limit time.Duration, timeouts fetch.Timeouts,
) (*conn, error) {
	if timeouts.Connect > 0 {
		limit = min(limit, timeouts.Connect)
	}
	// The connection outlives the request of ctx and must not hold it.
	dialing, cancel := context.WithTimeoutCause(context.Background(), limit,
		fmt.Errorf("no QUIC within %v", limit))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	idle := timeouts.Idle
	if idle == 0 {
		idle = defaultIdle
	}
	q := &quic.Transport{Conn: packetConn(socket.NetConn())}
	peer, err := q.Dial(dialing, socket.RemoteAddr(), cfg, &quic.Config{
		HandshakeIdleTimeout:  limit,
		MaxIdleTimeout:        idle,
		KeepAlivePeriod:       idle / 2,
		MaxIncomingStreams:    -1,
		MaxIncomingUniStreams: maxServerStreams,
	})
	if err != nil {
		q.Close()
		return nil, err
	}
	socket.EndsUnannounced() // the end of a stream does not end the connection
	socket.Secured(peer.ConnectionState().TLS)
	h3 := http3.Transport{MaxResponseHeaderBytes: maxHead, DisableCompression: true}
	return &conn{client: h3.NewClientConn(peer), transport: q, socket: socket}, nil
}

type conn struct {
	client    *http3.ClientConn
	transport *quic.Transport
	socket    *fetch.Conn
	key       connKey
	closing   sync.Once

	// Guarded by pool.mu.
	users   int
	timer   *time.Timer // closes the connection when it is idle
	retired bool
}

func (c *conn) unusable() bool { return c.client.Context().Err() != nil }

// close closes the connection without waiting for the server.
func (c *conn) close() {
	c.closing.Do(func() {
		c.client.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
		c.transport.Close()
		c.socket.Close()
	})
}
