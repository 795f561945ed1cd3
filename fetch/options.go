package fetch

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// Options configure a Client. The zero value means the defaults.
type Options struct {
	Policy      *Policy
	Credentials Credentials
	// Gateways maps a scheme (or "urn:nid" for a URN namespace) to the URL of a gateway (RFC 1738,
	// section 4). "{}" in that URL is replaced by the rest of the requested URL, after the scheme
	// and its slashes. Without "{}", the rest is appended.
	Gateways map[string]string
	// Proxy returns the proxy for a URL, or a zero URI for a direct connection. The scheme of the
	// proxy selects its protocol:
	//
	//   - "socks5" and "socks5h": the proxy resolves names.
	//   - "socks4" and "socks": IPv4 only; names are resolved locally.
	//   - "socks4a": like socks4, but the proxy resolves names.
	//   - "http" and "https": the proxy retrieves URLs itself, except that https URLs are tunnelled
	//     with CONNECT.
	//   - "connect": an HTTP proxy that tunnels all connections.
	//
	// Unlike the environment, Proxy also applies to loopback addresses. If Proxy is nil,
	// ProxyFromEnvironment is used, with the variables read when New is called.
	Proxy func(uri.URI) (uri.URI, error)
	// NoProxy lists hosts that are reached directly regardless of Proxy, in the format of the
	// variable no_proxy (see ProxyFromEnvironment). If NoProxy is not empty, that variable is
	// ignored.
	NoProxy string
	// ProxyTunnel makes http and https proxies tunnel all connections, as connect proxies do.
	ProxyTunnel bool
	// DialContext replaces the dialer for direct connections. Policy.CheckAddr and the rule on
	// private addresses are then applied after connecting.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// ListenPacket opens the sockets for datagrams that are not connected to a single port of a
	// server (see [Env]). If ListenPacket is nil, net.ListenPacket is used. If DialContext
	// is set and ListenPacket is not, protocols that need such sockets fail.
	ListenPacket func(ctx context.Context, network, addr string) (net.PacketConn, error)
	// LookupTXT looks up TXT records of the DNS (see [Env]). If it is nil, the resolver of the system is
	// used. If DialContext is set and LookupTXT is not, protocols that need such records fail.
	LookupTXT func(ctx context.Context, name string) ([]string, error)
	Network   Network
	TLS       *tls.Config // nil means the system's roots and TLS 1.2 or later
	Identity  Identity
	Timeouts  Timeouts
	// MaxRedirects limits the hops of a request: redirects and URLs opened by drivers, counted
	// together. 0 means 10; a negative value means no limit.
	MaxRedirects int
	// MaxErrorBody limits how much of an error page is kept in Error.Body, in bytes. 0 means 4 KiB;
	// a negative value keeps nothing. Drivers read at most 64 KiB, all of which a Recorder sees.
	MaxErrorBody int
	// TextLineEnds selects the line endings of text that protocols transfer in lines (see
	// Meta.Text). If it converts line endings, ranges of such text cannot be requested and its size
	// is unknown.
	TextLineEnds LineEnds
	// NoRedirects makes a redirect, or a URL opened by a driver, an error.
	NoRedirects bool
	Middleware  []Middleware // outermost first
	// Fallback, if not nil, may serve requests that fail (see package member).
	Fallback Fallback
	Logger   *slog.Logger // if nil, log records are discarded
	// Recorder observes every exchange. A nil Recorder costs nothing. [RecordLines] records only
	// the lines of conversations; [JoinRecorders] combines recorders.
	Recorder Recorder
	// Places, if not nil, is a Client whose record of private hosts the new Client shares. Use it
	// for clients that differ only in credentials: a resource that one of them retrieved from a
	// private host may then lead the other to private hosts.
	Places *Client
}

// Network configures the addresses of direct connections.
type Network struct {
	Family int                   // 4 or 6 to use only IPv4 or IPv6; 0 for both
	Local  netip.Addr            // address to connect from; zero for any
	Hosts  map[string]netip.Addr // maps "host:port" to the address to use instead of a DNS lookup
}

// withDefaults returns t with zero values replaced by the defaults and negative ones by 0.
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
