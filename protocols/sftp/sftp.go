// Package sftp is the driver for sftp and scp URLs: files and directories of SSH servers, over the
// SSH File Transfer Protocol, version 3 (draft-ietf-secsh-filexfer-02).
//
// The path of a URL is absolute. A path after "/~/" is relative to the user's home directory. Names
// are bytes and are sent as decoded; NUL and an encoded slash are not allowed. A URL without a
// trailing slash may still name a directory, as the server decides. An scp URL is equivalent,
// because scp itself now uses this protocol.
//
// The connection is encrypted below the driver. A recording therefore has lines instead of bytes:
// one for each request and response, except those that transfer content.
package sftp

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/codec/filexfer"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// Options configures the driver. The zero value is the default: like ssh, the driver reads the
// files in ~/.ssh and uses the agent.
type Options struct {
	// Identities lists private key files. The driver tries them before other keys.
	Identities []string
	// Passphrase, if not nil, is called for the passphrase of a private key file that the server
	// accepts. Without it, such keys can be used only through the agent.
	Passphrase func(ctx context.Context, file string) (string, error)
	// NoIdentities disables the key files that are tried by default, ~/.ssh/id_*.
	NoIdentities bool
	// NoAgent disables the agent at $SSH_AUTH_SOCK.
	NoAgent bool
	// KnownHosts lists the files with known host keys, in the format of OpenSSH. Missing files are
	// treated as empty. Nil means ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts.
	KnownHosts []string
	// TrustKey, if not nil, is called with the host key of a server without a known key. If it
	// returns true, the driver adds the key to the first file of KnownHosts. TrustKey is not called
	// for changed keys or for foreign requests (see fetch.Env.Foreign).
	TrustKey func(ctx context.Context, key HostKey) (bool, error)
	// Config is the configuration file, in the format of ssh_config. The driver uses its HostName,
	// Port, User, ProxyJump and Include, the keys of IdentityFile, IdentityAgent, IdentitiesOnly and
	// CertificateFile, and the algorithms of KexAlgorithms, Ciphers, MACs, HostKeyAlgorithms and
	// PubkeyAcceptedAlgorithms. "" means ~/.ssh/config; NoConfig disables it.
	Config   string
	NoConfig bool
	// User is the user to log in as if neither the URL nor Config names one. "" means the local
	// user.
	User string
}

// A HostKey is an unknown host key.
type HostKey struct {
	Host        string // as in known_hosts: a name or address, or "[host]:port" if the port is not 22
	Type        string // such as "ssh-ed25519"
	Fingerprint string // such as "SHA256:..."
}

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is like Load, with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		scheme := fetch.Scheme{
			Name: "sftp", Port: defaultPort, Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
			Ranges: true, Traits: fetch.Traits{Tree: true, Logins: true}, Driver: newDriver(env, opts),
			Summary: "files and directories of SSH servers, over SFTP",
		}
		reg.Register(scheme)
		scheme.Name, scheme.Summary = "scp", "the same as sftp"
		reg.Register(scheme)
	}
}

const (
	defaultPort = 22
	// maxConns limits the connections per server and user.
	maxConns = 4
	// requestsPerConn limits the concurrent requests on a connection.
	requestsPerConn = 16
	// idleTime is the time after which an idle connection is closed.
	idleTime = time.Minute
)

type opener struct {
	env  fetch.Env
	opts Options
	pool *driver.Pool[key, *slot]

	tried driver.Logins

	mu     sync.Mutex
	groups map[scopedKey]*group
	// knownHostsMu is held while adding a key to a known_hosts file.
	knownHostsMu sync.Mutex
}

func newDriver(env fetch.Env, opts Options) *opener {
	d := &opener{env: env, opts: opts, groups: make(map[scopedKey]*group)}
	d.pool = driver.NewPool[key](env, driver.PoolOptions[*slot]{
		MaxIdle: maxConns * requestsPerConn, MaxOpen: maxConns * requestsPerConn,
		IdleTimeout: idleTime,
		Valid:       func(s *slot) bool { return s.session.usable() },
		Close:       d.detach,
	})
	return d
}

func (d *opener) CloseIdleConnections() { d.pool.CloseIdle() }

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	if t.route, err = d.route(t, d.env.Foreign(ctx)); err != nil {
		return nil, err
	}
	for {
		l, err := d.pool.Get(ctx, t.key(), nil,
			func(ctx context.Context) (*slot, error) { return d.attach(ctx, t) })
		if err != nil {
			return nil, err
		}
		reused := l.Reused || !l.Conn.fresh
		resp, err := d.perform(ctx, l, t)
		if reused && errors.Is(err, remotefile.ErrLost) && ctx.Err() == nil {
			continue // the server had closed it
		}
		return resp, err
	}
}

type lease = *driver.Lease[key, *slot]

// The lease ends with the body of the response.
func (d *opener) perform(ctx context.Context, l lease, t *target) (*fetch.Response, error) {
	s := l.Conn.session
	if s.peer != nil {
		s.peer.Serve(ctx)
	}
	if x := fetch.RecordingOf(ctx); x != nil && x.Peer != nil && (l.Reused || !l.Conn.fresh) {
		x.Peer(1, s.remote, nil)
	}
	f := newFlight(ctx, s, driver.Line(ctx), func() {
		if s.failure() != nil {
			l.Discard()
			return
		}
		l.Put()
	})
	resp, err := d.openResponse(f, t)
	if err != nil || resp.Body == fetch.NoBody {
		f.end()
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (d *opener) openResponse(f *flight, t *target) (*fetch.Response, error) {
	info, err := f.attrs(f.roundTrip(filexfer.TypeAttrs, filexfer.TypeStat, t.path))
	if refusesAttributes(err) {
		return d.undescribed(f, t, err)
	}
	if err != nil {
		return nil, err
	}
	return d.described(f, t, info, "")
}

// described opens a file or directory with attributes. Handle is that of the open file, or "".
func (d *opener) described(
	f *flight, t *target, info filexfer.Attrs, handle string,
) (*fetch.Response, error) {
	if info.FileMode().IsDir() {
		f.closeHandle()
		return d.directory(f, t, info)
	}
	if err := remotefile.CheckFile(t.req, t.Dir); err != nil {
		return nil, err
	}
	return d.file(f, t, info, handle)
}

// refusesAttributes reports whether a server that returns err may still permit reading, as AWS
// Transfer Family does.
func refusesAttributes(err error) bool {
	code := fetch.CodeOf(err)
	return code == fetch.ErrRefused || code == fetch.ErrServer
}

// undescribed opens a file or directory whose attributes the server refuses with an error.
func (d *opener) undescribed(f *flight, t *target, refusal error) (*fetch.Response, error) {
	if t.Dir || t.req.Op == fetch.OpList {
		return d.directory(f, t, filexfer.Attrs{})
	}
	handle, err := f.openHandle(filexfer.TypeOpen, t.path, filexfer.FlagRead, filexfer.Attrs{})
	if fetch.CodeOf(err) == fetch.ErrNotFound && fetch.CodeOf(refusal) == fetch.ErrRefused {
		return nil, refusal // only attributes prove that there is no file
	}
	if err != nil {
		return nil, err
	}
	info, err := f.attrs(f.roundTrip(filexfer.TypeAttrs, filexfer.TypeFstat, handle))
	if err != nil && !isUndescribed(err) {
		return nil, err
	}
	return d.described(f, t, info, handle)
}

// isUndescribed reports whether a server that returns err to FSTAT may still permit reading. Servers
// that remove a file when it is opened, as IBM Sterling does, return "no such file".
func isUndescribed(err error) bool {
	return refusesAttributes(err) || fetch.CodeOf(err) == fetch.ErrNotFound
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	t, err := newTarget(req)
	if err != nil {
		return nil, err
	}
	if t.route, err = d.route(t, d.env.ForeignRequest(req)); err != nil {
		return nil, err
	}
	var steps []string
	for i, h := range t.route.hops {
		step := "connect to " + h.addr()
		if i > 0 {
			step += " through " + t.route.hops[i-1].addr()
		}
		steps = append(steps, step, "check the host key of "+h.addr(),
			"log in as "+cmp.Or(h.user, "the user of the credentials"))
	}
	steps = append(steps, "STAT "+t.path)
	if req.Op != fetch.OpStat {
		steps = append(steps, "OPEN "+t.path+", or OPENDIR if it is a directory")
	}
	for i := range steps {
		steps[i] = fetch.Printable(steps[i])
	}
	return steps, nil
}

func (h hop) addr() string { return net.JoinHostPort(h.host, strconv.Itoa(int(h.port))) }
