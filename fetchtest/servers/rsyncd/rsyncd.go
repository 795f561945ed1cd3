// Package rsyncd is an rsync daemon for tests, of any version of the protocol from 27 to 31. It sends
// whole files of one module, and fails on request.
package rsyncd

import (
	"cmp"
	"io/fs"
	"sync/atomic"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/rsync"
)

// Options configure a server.
type Options struct {
	// Tree holds the files of the module.
	Tree fs.FS
	// Module is the name of the module; "" means "files".
	Module string
	// Comment is the comment of the module in the list of modules.
	Comment string
	// Message is the message of the day.
	Message string
	// Users maps users to passwords. Nil requires no login.
	Users map[string]string
	// Digests are the digests for logins. Nil sends none, as before rsync 3.2.7.
	Digests []string
	// Protocol is the version of the protocol. 0 means 31.
	Protocol int
	// Damage sends wrong checksums.
	Damage bool
	// Change, if not nil, changes the content of a file after the file list was sent.
	Change func(content []byte) []byte
	// Listed changes the items of a file list.
	Listed func(items []rsync.Item) []rsync.Item
	// Messages are sent as frames before each file list.
	Messages []Message
	// Errors are the bits of io_error at the end of file lists.
	Errors int32
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
}

// A Message is a frame without data.
type Message struct {
	Tag     rsync.Tag
	Payload string
}

// A Server is a running rsync daemon. Faults apply to the contents of files, and to the file lists of
// directories. Abort sends an error and a wrong checksum; Short ends the file early.
type Server struct {
	*servers.Server
	opts         Options
	logins, ends atomic.Int64
}

// Logins returns the number of responses to challenges.
func (s *Server) Logins() int { return int(s.logins.Load()) }

// Ends returns the number of sessions that the client ended in an orderly way.
func (s *Server) Ends() int { return int(s.ends.Load()) }

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close.
func New(opts Options) (*Server, error) {
	opts.Module = cmp.Or(opts.Module, "files")
	opts.Protocol = cmp.Or(opts.Protocol, rsync.MaxProtocol)
	base, err := servers.Listen(servers.Config{Scheme: "rsync", Listen: opts.Listen})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(func(c *servers.Conn) { (&session{server: s, conn: c}).serve() })
	return s, nil
}
