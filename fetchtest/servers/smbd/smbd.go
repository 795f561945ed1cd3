// Package smbd is an SMB 2 and 3 server for tests. It serves a tree of files read-only, and fails
// on request.
package smbd

import (
	"io/fs"
	"sync/atomic"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/smb2"
)

// Options configure a server.
type Options struct {
	// Tree holds the files of the share.
	Tree fs.FS
	// Share is the name of the share; "" means "share".
	Share string
	// Shares maps the names of further, empty shares in the list of shares to remarks.
	Shares map[string]string
	// DFS maps paths, such as "share\dir", to the places of their files, such as
	// "\server\share\dir".
	DFS map[string][]string
	// Users maps users to passwords.
	Users map[string]string
	// Refusal is the status of all logins. 0 means that of the password.
	Refusal smb2.Status
	// Guests accepts unknown users as guests.
	Guests bool
	// Dialect is the dialect to negotiate. 0 means 3.1.1.
	Dialect uint16
	// CMAC signs with AES-CMAC instead of AES-GMAC in dialect 3.1.1.
	CMAC bool
	// Cipher is the cipher for encryption. 0 means none. Dialects 3.0 and 3.0.2 only have
	// AES-128-CCM.
	Cipher uint16
	// EncryptSession requires encryption for the session, EncryptShare for the share.
	EncryptSession, EncryptShare bool
	// Credits is the largest number of credits of a client. 0 means 512.
	Credits int
	// MaxRead limits the bytes of a READ response. 0 means no limit.
	MaxRead int
	// Batch limits the entries of a QUERY_DIRECTORY response. 0 means 100.
	Batch int
	// Pending sends an interim response (STATUS_PENDING) before each READ response.
	Pending bool
	// Forge changes responses after they are signed or encrypted.
	Forge func(c smb2.Command, msg []byte)
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
}

// signing returns the signing algorithm for dialect 3.1.1.
func (o *Options) signing() uint16 {
	if o.CMAC {
		return smb2.SignCMAC
	}
	return smb2.SignGMAC
}

// A Server is a running SMB server. Faults apply to files and directories. A failure is taken when
// one is opened. Abort returns an error; Short ends the file early.
type Server struct {
	*servers.Server
	opts   Options
	logins atomic.Uint64
}

// Logins returns the number of login attempts.
func (s *Server) Logins() uint64 { return s.logins.Load() }

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close.
func New(opts Options) (*Server, error) {
	if opts.Share == "" {
		opts.Share = "share"
	}
	if opts.Dialect == 0 {
		opts.Dialect = smb2.Dialect311
	}
	if opts.Credits == 0 {
		opts.Credits = 512
	}
	if opts.Batch == 0 {
		opts.Batch = 100
	}
	base, err := servers.Listen(servers.Config{Scheme: "smb", Listen: opts.Listen})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(func(c *servers.Conn) {
		(&session{server: s, conn: c, credits: 1, handles: make(map[smb2.FileID]*handle)}).serve()
	})
	return s, nil
}
