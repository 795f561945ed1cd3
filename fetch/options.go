package fetch

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// Options configures a Client. The zero value is the default.
type Options struct {
	Policy      *Policy
	Credentials Credentials
	// Gateways maps a scheme (or "urn:nid" for a URN namespace) to the URL of a gateway (RFC 1738,
	// section 4). "{}" in it stands for the rest of the URL after the scheme and its slashes;
	// without it, the rest is appended.
	Gateways map[string]string
	// Proxy returns the proxy for a URL, or a zero URI for none. Its scheme is one of "socks5" and
	// "socks5h" (the proxy resolves names in either case), "socks4" or "socks" (IPv4 only; names
	// are resolved locally), "socks4a" (the proxy resolves names), "http" and "https" (a forward
	// proxy that retrieves URLs itself, except that https URLs are tunnelled with CONNECT), and
	// "connect" (an HTTP proxy that tunnels everything). Unlike the environment, Proxy also applies
	// to loopback addresses. Nil means ProxyFromEnvironment, with the variables as they are when the
	// client is made.
	Proxy func(uri.URI) (uri.URI, error)
	// NoProxy lists hosts to reach directly regardless of Proxy, in the format of the variable
	// no_proxy (see ProxyFromEnvironment). If it is not empty, that variable is ignored.
	NoProxy string
	// ProxyTunnel makes http and https proxies tunnel everything, as connect proxies do.
	ProxyTunnel bool
	// DialContext replaces the dialer for direct connections. CheckAddr and the rule on private
	// addresses are then applied after connecting.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// ListenPacket replaces the sockets for datagrams that are not connected to one port of a
	// server (see [driver.Env]). Nil means net.ListenPacket, unless DialContext is set: then
	// protocols that need such sockets fail.
	ListenPacket func(ctx context.Context, network, addr string) (net.PacketConn, error)
	Network      Network
	TLS          *tls.Config // nil means the system's roots and TLS 1.2 or later
	Identity     Identity
	Timeouts     Timeouts
	// MaxRedirects bounds the hops of a request, counting redirects and URLs opened by drivers
	// together. 0 means 10; a negative value means no limit.
	MaxRedirects int
	// TextLineEnds says how the lines of text end that protocols send as lines (Meta.Text). Such
	// text has no parts and no known size, unless its lines are to stay as they come.
	TextLineEnds LineEnds
	// NoRedirects makes the first hop an error.
	NoRedirects bool
	Middleware  []driver.Middleware // outermost first
	Logger      *slog.Logger        // nil discards
	// Recorder observes every exchange; nil records nothing and costs nothing. See [RecordLines] for the
	// lines of conversations only, and JoinRecorders for several recorders.
	Recorder Recorder
	// Places, if not nil, is a client that this one shares the memory of private hosts with, for
	// clients that differ in credentials: a resource that one of them retrieved from a private host
	// may lead the other to private hosts too.
	Places *Client
}

// Network selects addresses for direct connections.
type Network struct {
	Family int                   // 4 or 6 to use only IPv4 or IPv6; 0 for both
	Local  netip.Addr            // address to connect from; zero for any
	Hosts  map[string]netip.Addr // maps "host:port" to the address to use instead of asking DNS
}

// withDefaults returns t with the defaults filled in.
func withDefaults(t Timeouts) Timeouts {
	pick := func(d, def time.Duration) time.Duration {
		if d == 0 {
			return def
		}
		return max(d, 0)
	}
	return Timeouts{
		Connect: pick(t.Connect, 30*time.Second),
		Reply:   pick(t.Reply, 60*time.Second),
		Idle:    pick(t.Idle, 60*time.Second),
	}
}
