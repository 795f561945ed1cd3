// Package smbd is a server of SMB 2 and 3 for tests. It shares a tree of files to read, and fails on
// request.
package smbd

import (
	"io/fs"
	"sync/atomic"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/smb2"
)

// Options say what a server has and does.
type Options struct {
	// Tree holds the files of the share.
	Tree fs.FS
	// Share is the name of the share; "" means "share".
	Share string
	// Shares are further shares that the server tells of, without content, by name with a remark.
	Shares map[string]string
	// Users are the passwords by user.
	Users map[string]string
	// Guests lets in everybody who is unknown, as a guest.
	Guests bool
	// Dialect is the one to choose; 0 means 3.1.1.
	Dialect uint16
	// CMAC signs with AES-CMAC in dialect 3.1.1, not with AES-GMAC.
	CMAC bool
	// Cipher is the one to encrypt with; 0 means none. Dialects 3.0 and 3.0.2 have AES-128-CCM alone.
	Cipher uint16
	// EncryptSession demands encryption of everything, EncryptShare of the share.
	EncryptSession, EncryptShare bool
	// Credits is how many credits a client has at most; 0 means 512.
	Credits int
	// MaxRead is how many bytes of content an answer has at most; 0 means as many as are asked for.
	MaxRead int
	// Batch is how many members an answer has at most; 0 means 100.
	Batch int
	// Pending says before each answer to a READ that it takes time.
	Pending bool
	// Forge changes responses to these commands after they were signed or encrypted.
	Forge func(c smb2.Command, msg []byte)
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
}

// signing returns the algorithm of signatures in dialect 3.1.1.
func (o *Options) signing() uint16 {
	if o.CMAC {
		return smb2.SignCMAC
	}
	return smb2.SignGMAC
}

// A Server is a running SMB server. Its content, for faults, is that of files and directories: a
// failure is taken when one is opened. Abort answers with a failure, Short with the end of the file.
type Server struct {
	*servers.Server
	opts   Options
	logins atomic.Uint64
}

// Logins returns how many logins were tried.
func (s *Server) Logins() uint64 { return s.logins.Load() }

// Start starts a server until the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server until Close.
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
