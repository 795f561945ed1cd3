package driver

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// An Env is what a client provides to its drivers: their only access to the network, to secrets, to
// the log and to other URLs. Methods will be added to it, so only fetch.Client and wrappers that
// embed an Env should implement it.
type Env interface {
	// Credential answers a server's challenge: on the first attempt with the user and password in
	// the URL, if there are any, and otherwise from the client's Credentials. If there is no
	// credential, the error matches ErrAuth. For an anonymous request there are credentials only
	// for a proxy.
	Credential(ctx context.Context, ch Challenge) (Credential, error)
	// Open retrieves another URL on behalf of a driver, under the policy and within the redirect
	// limit of the request that ctx belongs to. If req.From is zero, it is set to the URL of that
	// request. Location of the response is empty: redirects have been followed.
	Open(ctx context.Context, req *Request) (*Response, error)
	// Proxy returns the forward proxy that retrieves the request's URL, if there is one. Proxies
	// that tunnel are handled by Dial.
	Proxy(ctx context.Context) (uri.URI, bool)
	// Scope returns a token for what a connection made under ctx may be used for: it must not serve
	// requests of another scope. [Pool] takes care of that; a driver with a different kind of pool
	// must include the scope in its key.
	//
	// Scopes separate connections through different proxies, connections made while the policy
	// forbade private addresses, and connections of foreign and of anonymous requests (see Foreign),
	// which may have different credentials from the user's own requests.
	Scope(ctx context.Context) string
	// Foreign reports whether the request of ctx serves somebody other than the user: another
	// origin led here, even if several hops ago, or the policy calls all requests untrusted.
	//
	// It is the only question that a driver asks before it uses anything that belongs to the user:
	// a login, a key, an agent, a cookie, an account, a reserved port, a mailbox, a configuration
	// file. None of these is for a foreign request, except a login in its URL. Request.From does
	// not answer the question: it is zero for jobs of a queue, and it does not tell of earlier
	// hops. A driver that remembers logins must not use those of one kind of request for the other.
	// Credential, TLSConfig and Scope take care of their parts. Anonymous requests (see Request)
	// count as foreign.
	Foreign(ctx context.Context) bool
	// ForeignRequest reports whether Foreign would be true in the exchange for req. It is for
	// [Explainer], which has no context.
	ForeignRequest(req *Request) bool

	// Dial connects to addr, "host:port", under the client's policy, proxy and connect timeout. Ctx
	// governs only the dial; see Conn.Bind. The connection enforces the idle timeout on each read
	// and write.
	//
	// With a tunnelling proxy, the proxy resolves the host, and RemoteAddr of the connection is its
	// name.
	Dial(ctx context.Context, network, addr string) (*Conn, error)
	// DialFrom is Dial from a given local port, for protocols that base trust on it (RFC 1282). It
	// fails if the port is in use or requires privileges.
	DialFrom(ctx context.Context, network, addr string, localPort uint16) (*Conn, error)
	// DialPeer connects to another port of the host that conn is connected to, whatever address the
	// server may have named, so that FTP data connections cannot be directed elsewhere. Reserved
	// ports are refused.
	DialPeer(ctx context.Context, conn *Conn, port uint16) (*Conn, error)
	// ListenPeer listens for connections from the host that conn is connected to, on the local
	// address of conn, as active FTP requires. It fails if there is a proxy. Connections from other
	// hosts are closed unread.
	ListenPeer(ctx context.Context, conn *Conn) (PeerListener, error)
	// DialDatagrams is like Dial for protocols over UDP whose servers answer from a port other than
	// the one addressed, such as TFTP (RFC 1350, section 4). The first answer from the host
	// determines the port: everything after it goes there. Datagrams from other hosts are dropped.
	// Later datagrams from other ports of the host are answered with stray, if it is not empty. An
	// answer from a reserved port other than the one addressed is dropped too.
	//
	// Each Read returns one datagram and each Write sends one. DialDatagrams fails if there is a
	// proxy.
	DialDatagrams(ctx context.Context, addr string, stray []byte) (*Conn, error)
	// TLSConfig returns a new configuration for a connection to host. If the request of ctx is
	// foreign, and not merely anonymous, the configuration has no client certificates. See Conn.Handshake.
	TLSConfig(ctx context.Context, host string) *tls.Config

	// Pipeline returns the pipeline that the request of ctx belongs to, or nil.
	Pipeline(ctx context.Context) Pipeline
	// Identity returns how the client identifies itself.
	Identity() Identity
	// Timeouts returns the timeouts with defaults filled in; 0 means none. Dial and
	// Conn.Handshake apply Connect, and connections Idle, by themselves.
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

// A Pipeline is requests that are made one after the other, as a driver sees them.
type Pipeline interface {
	// Next returns requests that are expected to follow the one of ctx, in order, and that may be
	// sent on its connection: they ask for whole contents and nothing more, the policy allows them,
	// and they are of the same scope (see Env.Scope). The driver must see to it that they are for
	// the same server.
	Next(ctx context.Context) []*Request
	// Keep leaves state for the next request, such as a connection on which answers are to come.
	// Drop is called if nobody takes it. Keep reports whether it was left: not if the pipeline has
	// ended, or if there is some already.
	Keep(state any, drop func()) bool
	// Take returns the state that the request before has left, which is then the caller's; nil if
	// there is none.
	Take() any
}

// Identity is how a client identifies itself to servers.
type Identity struct {
	UserAgent string // for protocols that have such a field
	Email     string // the password of anonymous FTP; "" means "urlget@"
}

// Timeouts bounds waits. Zero fields mean the defaults: Connect 30 s, Reply 60 s, Idle 60 s. A
// negative value means no timeout. The transfer as a whole is bounded only by the context.
type Timeouts struct {
	Connect time.Duration // resolving, connecting and handshakes
	Reply   time.Duration // from a command to the first byte of its answer
	Idle    time.Duration // without progress during a transfer
}
