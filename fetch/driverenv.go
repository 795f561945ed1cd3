package fetch

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// An Env gives drivers access to their client: to the network, to credentials, to the log and to
// other URLs. Methods will be added to it, so only fetch.Client and wrappers that embed an Env
// should implement it.
type Env interface {
	// Credential returns a credential for a server's challenge: on the first attempt the user and
	// password in the URL, if any, and otherwise one from the client's Credentials. If there is
	// none, the error matches ErrAuth. Anonymous requests get only credentials for a proxy.
	Credential(ctx context.Context, ch Challenge) (Credential, error)
	// Open retrieves another URL for a driver, under the policy and within the redirect limit of
	// the request of ctx. If req.From is zero, Open uses the URL of that request. Open follows
	// redirects, so Location of the response is empty.
	Open(ctx context.Context, req *Request) (*Response, error)
	// OpenGateway retrieves a URL of a gateway that the options of the driver name, on behalf of the
	// request of ctx. The policy treats the URL as given by the user, even if another origin led to
	// the request, and each call has a redirect limit of its own. Nothing else of the user is sent: no
	// login except one in req, no cookies and no client certificate.
	OpenGateway(ctx context.Context, req *Request) (*Response, error)
	// Exchange performs req, one exchange of another scheme, as a part of the exchange of ctx: for a
	// scheme that is a use of another protocol, such as a file service over HTTP. The provenance of ctx
	// applies, so that the user's own request may use the user's own server. The policy and the proxy
	// are those for req.URL. Exchange does not follow redirects, and the Recorder sees no other
	// exchange.
	Exchange(ctx context.Context, req *Request) (*Response, error)
	// Proxy returns the forward proxy that retrieves the request's URL, if there is one. Dial
	// handles proxies that tunnel.
	Proxy(ctx context.Context) (uri.URI, bool)
	// Scope returns a token for connections made under ctx. A connection must not serve requests of
	// another scope. [Pool] enforces that; a driver with a different kind of pool must include the
	// scope in its key.
	//
	// Scopes separate connections through different proxies, connections made while the policy
	// forbade private addresses, and connections of foreign and of anonymous requests (see
	// Foreign), which may have credentials other than those of the user's own requests. With
	// Traits.Stateless, anonymous requests share the user's connections.
	Scope(ctx context.Context) string
	// Foreign reports whether the request of ctx serves a party other than the user: another origin
	// led to it, even several hops ago, or Policy.Untrusted is set. Anonymous requests (see
	// Request) count as foreign.
	//
	// A driver must check Foreign before it uses anything that belongs to the user: a login, a key,
	// an agent, a cookie, an account, a reserved port, a mailbox, a configuration file. A foreign
	// request must not use any of these, except a login in its URL. Request.From is not sufficient:
	// it is zero for jobs of a queue, and it does not include earlier hops. A driver that caches
	// logins must not share them between foreign and other requests. Credential, TLSConfig and
	// Scope consider Foreign themselves.
	Foreign(ctx context.Context) bool
	// ForeignRequest reports whether Foreign would return true in the exchange for req. It is for
	// [Explainer], which has no context.
	ForeignRequest(req *Request) bool

	// Dial connects to addr, "host:port", under the client's policy, proxy and connect timeout. Ctx
	// governs only the dial; see Conn.Bind. The connection enforces the idle timeout on each read
	// and write.
	//
	// With a tunnelling proxy, the proxy resolves the host, and RemoteAddr of the connection is the
	// name of the host.
	Dial(ctx context.Context, network, addr string) (*Conn, error)
	// DialFrom is like Dial with a local port, for protocols that base trust on it (RFC 1282). It
	// fails if the port is in use or requires privileges.
	DialFrom(ctx context.Context, network, addr string, localPort uint16) (*Conn, error)
	// DialPeer connects to another port of the host that conn is connected to. It ignores any
	// address that the server sent, so that FTP data connections cannot be redirected to another
	// host. It refuses reserved ports.
	DialPeer(ctx context.Context, conn *Conn, port uint16) (*Conn, error)
	// ListenPeer listens for connections from the host that conn is connected to, on the local
	// address of conn, as active FTP requires. It fails if there is a proxy. It closes connections
	// from other hosts.
	ListenPeer(ctx context.Context, conn *Conn) (PeerListener, error)
	// DialDatagrams is like Dial for UDP protocols whose servers reply from another port, such as
	// TFTP (RFC 1350, section 4). The first datagram from the host determines the port to which
	// later datagrams are sent. A first datagram from a reserved port is dropped, unless it is the
	// port in addr. Datagrams from other hosts are dropped. If stray is not empty, it is sent in
	// reply to later datagrams from other ports of the host.
	//
	// Each Read returns one datagram and each Write sends one. DialDatagrams fails if there is a
	// proxy.
	DialDatagrams(ctx context.Context, addr string, stray []byte) (*Conn, error)
	// LookupTXT returns the TXT records of a domain name, each as one string, within the connect
	// timeout. It fails if there is a proxy, because the lookup would not use it.
	LookupTXT(ctx context.Context, name string) ([]string, error)
	// TLSConfig returns a new configuration for a connection to host. It has no client certificates
	// if another origin led to the request of ctx, if Policy.Untrusted is set, or if the request is
	// anonymous, except for schemes with Traits.Stateless. See Conn.Handshake.
	TLSConfig(ctx context.Context, host string) *tls.Config

	// Pipeline returns the pipeline of the request of ctx, or nil.
	Pipeline(ctx context.Context) Pipeline
	// Identity returns the identity that the client sends to servers.
	Identity() Identity
	// Timeouts returns the timeouts, with defaults in place of zero values; 0 means no timeout.
	// Dial and Conn.Handshake apply Connect, and connections apply Idle.
	Timeouts() Timeouts
	// Logger returns the client's logger. It is never nil.
	Logger() *slog.Logger
}

// A PeerListener accepts connections from a single host.
type PeerListener interface {
	// Accept waits for and returns the next connection from the host.
	Accept() (*Conn, error)
	// Addr returns the address that the host should connect to.
	Addr() net.Addr
	// Close stops listening. A blocked Accept returns an error.
	Close() error
}

// A Pipeline gives a driver access to the consecutive requests of a caller.
type Pipeline interface {
	// Next returns requests that are expected to follow the request of ctx, in order, and that may
	// be sent on its connection. They have no options except their URL, the policy allows them, and
	// they have the same scope (see Env.Scope). The driver must check that they are for the same
	// server.
	Next(ctx context.Context) []*Request
	// Keep stores state for the next request, such as a connection with outstanding replies. Drop
	// is called if no request takes it. Keep returns false if the pipeline has ended or already has
	// a state.
	Keep(state any, drop func()) bool
	// Take returns the state stored by the previous request, or nil. The caller becomes its owner.
	Take() any
}

// Identity identifies the client to servers.
type Identity struct {
	UserAgent string // for protocols with a field for it
	Email     string // the password of anonymous FTP; "" means "urlget@"
}

// Timeouts limit waits for a server. Zero fields mean the defaults: Connect 30 s, Reply 60 s, Idle
// 60 s. A negative value means no timeout. Only the context limits the whole transfer.
type Timeouts struct {
	Connect time.Duration // DNS lookup, connect and handshakes
	Reply   time.Duration // from a command to the first byte of the reply
	Idle    time.Duration // without progress during a transfer
}
