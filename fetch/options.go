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

// Options configures a Client. The zero value is the default.
type Options struct {
	Policy      *Policy
	Credentials Credentials
	// Gateways maps a scheme (or "urn:nid" for one namespace of URNs) to the
	// URL prefix of a gateway (RFC 1738, section 4). "{}" in it stands for
	// the rest of the URL after the scheme and its slashes; without one the
	// rest is appended.
	Gateways map[string]string
	// Proxy returns the proxy for a URL, or a zero URI for none. Schemes:
	// "socks5" and "socks5h" (the proxy resolves names in both), "http" and
	// "https" (the proxy retrieves the URL itself, save for https URLs,
	// which are tunnelled by CONNECT), and "connect" (an http proxy that
	// tunnels everything). Nil means ProxyFromEnvironment.
	Proxy func(uri.URI) (uri.URI, error)
	// DialContext replaces the dialer for direct connections. CheckAddr and
	// the private-address rule are then applied once it has connected.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	Network     Network
	TLS         *tls.Config // nil means the system's roots and TLS 1.2 or later
	Identity    Identity
	Timeouts    Timeouts
	// MaxRedirects bounds the hops of one request, redirects and URLs that
	// drivers follow together. 0 means 10, negative means none.
	MaxRedirects int
	Middleware   []Middleware // outermost first
	Logger       *slog.Logger // nil discards
	// Trace receives each line of the protocol conversations, secrets
	// masked. It may be called by several goroutines at once.
	Trace func(sent bool, line string)
}

// Network chooses addresses for direct connections.
type Network struct {
	Family int                   // 4 or 6 to use only that; 0 for both
	Local  netip.Addr            // address to connect from; zero for any
	Hosts  map[string]netip.Addr // "host:port" to the address to use instead of asking DNS
}

// Identity is what a client says of itself.
type Identity struct {
	UserAgent string // for protocols that have such a field
	Email     string // the password of anonymous FTP; "" means "urlget@"
}

// Timeouts bound the waits. Zero fields mean the defaults: Connect 30 s,
// Reply 60 s, Idle 60 s. Negative means none. There is no bound on the whole
// transfer: that is the context's.
type Timeouts struct {
	Connect time.Duration // to resolve, connect and shake hands
	Reply   time.Duration // from a command to the first octet of its answer
	Idle    time.Duration // without progress in mid-transfer
}

func (t Timeouts) withDefaults() Timeouts {
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
