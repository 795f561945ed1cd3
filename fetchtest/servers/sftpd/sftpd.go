// Package sftpd is a server for SFTP (draft-ietf-secsh-filexfer-02) over SSH for tests. It serves a
// tree of files read-only, and fails on request.
package sftpd

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options configure a server.
type Options struct {
	// Tree holds the files. Its root is the login directory. Files that do not implement
	// io.ReaderAt are read into memory when they are opened.
	Tree fs.FS
	// Users maps users to passwords. Without Users and Keys, every login succeeds.
	Users map[string]string
	// Keys lists accepted public keys, for all users.
	Keys []ssh.PublicKey
	// Dialogue requires keyboard-interactive logins. After the password, the server sends the
	// prompts of Further, which maps prompts to the expected responses.
	Dialogue bool
	Further  map[string]string
	// Prompt is the first prompt of such a login, and Echo whether the response may be shown. ""
	// means "Password: ".
	Prompt string
	Echo   bool
	// Expired requests a new password in response to the method "password". It needs Dialogue, whose
	// logins it refuses.
	Expired bool
	// Rounds is the number of requests without prompts before the first prompt.
	Rounds int
	// Algorithms has the key exchange methods, the ciphers and the MACs. Nil lists mean the defaults
	// of package ssh.
	Algorithms ssh.Config
	// KeyAlgorithms lists the algorithms of public keys that clients may sign with. Nil means the
	// defaults of package ssh.
	KeyAlgorithms []string
	// HostKeys are the server's keys, which may have certificates. Nil means a new key.
	HostKeys []ssh.Signer
	// MaxRead limits the bytes of a READ reply. 0 means no limit.
	MaxRead int
	// Batch limits the entries of a READDIR reply. 0 means 100.
	Batch int
	// Forward reports whether a client may open a forwarded connection to addr. Nil forbids all.
	Forward func(addr string) bool
	// NoSFTP refuses the sftp subsystem.
	NoSFTP bool
	// Version is the protocol version that the server selects. 0 means 3.
	Version uint32
	// Output is sent in place of the version, as by a shell that prints, before the session ends.
	Output string
	// Refuse returns the status code for a request of type t, or 0 to serve it (sections 3 and 7 of
	// the draft). Opened reports whether a file or directory is open. Nil serves all.
	Refuse func(t byte, opened bool) uint32
	// NoAttributes omits the attributes of the entries of listings.
	NoAttributes bool
	// CheckFile computes the digest for the extension check-file. It is called with the name of the
	// extension and the content of the file. If it is nil or returns "", the server refuses.
	CheckFile func(extension string, content []byte) (algorithm string, sum []byte)
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
}

// A Server is a running SFTP server. Faults apply to files and listings. A failure is taken when
// one is opened. Abort returns an error; Short ends the file early.
type Server struct {
	*servers.Server
	// HostKey is the first host key.
	HostKey ssh.PublicKey

	opts   Options
	config *ssh.ServerConfig
	served atomic.Int64
}

// Served returns the number of file bytes sent.
func (s *Server) Served() int64 { return s.served.Load() }

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close.
func New(opts Options) (*Server, error) {
	if opts.HostKeys == nil {
		key, err := NewKey()
		if err != nil {
			return nil, err
		}
		opts.HostKeys = []ssh.Signer{key}
	}
	base, err := servers.Listen(servers.Config{Scheme: "sftp", Listen: opts.Listen})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts, HostKey: opts.HostKeys[0].PublicKey()}
	s.config = s.serverConfig()
	base.Serve(s.serve)
	return s, nil
}

// NewKey returns a new private key.
func NewKey() (ssh.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return ssh.NewSignerFromKey(key)
}

// KnownHosts returns the server's line for a known_hosts file.
func (s *Server) KnownHosts() string {
	host, port, _ := net.SplitHostPort(s.Addr)
	return "[" + host + "]:" + port + " " + string(ssh.MarshalAuthorizedKey(s.HostKey))
}

var errRefused = errors.New("sftpd: refused")

func (s *Server) serverConfig() *ssh.ServerConfig {
	cfg := &ssh.ServerConfig{Config: s.opts.Algorithms,
		PublicKeyAuthAlgorithms: s.opts.KeyAlgorithms,
		NoClientAuth:            s.opts.Users == nil && s.opts.Keys == nil, MaxAuthTries: 6}
	checkPassword := func(user string, password []byte) error {
		if want, ok := s.opts.Users[user]; ok && want == string(password) {
			return nil
		}
		return errRefused
	}
	if s.opts.Keys != nil {
		cfg.PublicKeyCallback = func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			for _, known := range s.opts.Keys {
				if bytes.Equal(known.Marshal(), key.Marshal()) {
					return nil, nil
				}
			}
			return nil, errRefused
		}
	}
	if s.opts.Users != nil && !s.opts.Dialogue {
		cfg.PasswordCallback = func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			return nil, checkPassword(c.User(), password)
		}
	}
	if s.opts.Expired {
		expire(cfg)
	} else if s.opts.Users != nil && s.opts.Dialogue {
		cfg.KeyboardInteractiveCallback = func(c ssh.ConnMetadata,
			challenge ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			for range s.opts.Rounds {
				if _, err := challenge("", "", nil, nil); err != nil {
					return nil, err
				}
			}
			prompts := []string{cmp.Or(s.opts.Prompt, "Password: ")}
			responses, err := challenge("", "", prompts, []bool{s.opts.Echo})
			if err != nil || len(responses) != 1 || checkPassword(c.User(), []byte(responses[0])) != nil {
				return nil, errRefused
			}
			for prompt, want := range s.opts.Further {
				responses, err := challenge("", "", []string{prompt}, []bool{true})
				if err != nil || len(responses) != 1 || responses[0] != want {
					return nil, errRefused
				}
			}
			return nil, nil
		}
	}
	for _, key := range s.opts.HostKeys {
		cfg.AddHostKey(key)
	}
	return cfg
}

// expire makes the server request a new password. Package ssh cannot send this request
// (SSH_MSG_USERAUTH_PASSWD_CHANGEREQ), but the requests of keyboard-interactive have the same number.
func expire(cfg *ssh.ServerConfig) {
	var mu sync.Mutex
	requests := map[string]ssh.KeyboardInteractiveChallenge{} // by session
	cfg.KeyboardInteractiveCallback = func(c ssh.ConnMetadata,
		challenge ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
		mu.Lock()
		defer mu.Unlock()
		requests[string(c.SessionID())] = challenge
		return nil, errRefused
	}
	cfg.PasswordCallback = func(c ssh.ConnMetadata, _ []byte) (*ssh.Permissions, error) {
		mu.Lock()
		request := requests[string(c.SessionID())]
		mu.Unlock()
		if request != nil {
			request("Your password has expired.", "", nil, nil)
		}
		return nil, errRefused
	}
}

// serve handles one client.
func (s *Server) serve(c *servers.Conn) {
	conn, chans, reqs, err := ssh.NewServerConn(c.NetConn(), s.config)
	if err != nil {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer conn.Close()
	done := make(chan struct{})
	wg.Go(func() { conn.Wait(); close(done) })
	wg.Go(func() { ssh.DiscardRequests(reqs) })
	for newChannel := range chans {
		switch newChannel.ChannelType() {
		case "direct-tcpip":
			wg.Go(func() { s.forward(c, newChannel, done) })
		case "session":
			ch, reqs, err := newChannel.Accept()
			if err != nil {
				return
			}
			if !s.subsystem(reqs) {
				ch.Close()
				continue
			}
			wg.Go(func() { ssh.DiscardRequests(reqs) })
			x := &session{server: s, conn: c, channel: ch, done: done, handles: make(map[string]*handle)}
			x.serve() // sequentially, because a servers.Conn is for one goroutine
			ch.Close()
		default:
			newChannel.Reject(ssh.UnknownChannelType, "unsupported channel type")
		}
	}
}

// subsystem waits for the request to start SFTP.
func (s *Server) subsystem(reqs <-chan *ssh.Request) bool {
	for r := range reqs {
		var name struct{ Name string }
		ok := r.Type == "subsystem" && ssh.Unmarshal(r.Payload, &name) == nil && name.Name == "sftp" &&
			!s.opts.NoSFTP
		r.Reply(ok, nil)
		if ok || r.Type == "subsystem" {
			return ok
		}
	}
	return false
}

// forward opens a forwarded connection (RFC 4254, section 7.2).
func (s *Server) forward(c *servers.Conn, newChannel ssh.NewChannel, done <-chan struct{}) {
	var target struct {
		Host   string
		Port   uint32
		Origin string
		From   uint32
	}
	if ssh.Unmarshal(newChannel.ExtraData(), &target) != nil {
		newChannel.Reject(ssh.ConnectionFailed, "malformed")
		return
	}
	addr := net.JoinHostPort(target.Host, strconv.Itoa(int(target.Port)))
	if s.opts.Forward == nil || !s.opts.Forward(addr) {
		newChannel.Reject(ssh.Prohibited, "forwarding is not allowed")
		return
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		newChannel.Reject(ssh.ConnectionFailed, "connection refused")
		return
	}
	defer c.Track(conn)()
	ch, reqs, err := newChannel.Accept()
	if err != nil {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { ssh.DiscardRequests(reqs) })
	wg.Go(func() { io.Copy(ch, conn); ch.Close() })
	wg.Go(func() { io.Copy(conn, ch); conn.Close() })
	<-done
	conn.Close()
}
