// Package ftpd is an FTP server for tests. It serves a file system, with TLS if wanted, keeps a log
// of its commands, and fails on request.
package ftpd

import (
	"cmp"
	"crypto/tls"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options say what a server has and how it behaves. The zero value has no files and serves
// everybody in clear.
type Options struct {
	// Tree holds the files; nil means none.
	Tree fs.FS
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1. Data
	// connections use the same host.
	Listen string
	// TLS is the configuration for AUTH TLS; nil if the server does not know it.
	TLS *tls.Config
	// Implicit begins TLS with the connection.
	Implicit bool
	// Users has the passwords by user name. Without it, every user gets in.
	Users map[string]string
	// Account is what ACCT must say; "" if it is not asked for.
	Account string
	// Unknown are commands that the server answers with 502.
	Unknown []string
	// Replies are replies to commands in place of those that are right, with their line ends; the
	// command "" is the greeting. "" means that the command is never answered. The commands then
	// have no effect.
	Replies map[string]string
	// Elsewhere is the address that PASV names, as "192,0,2,1"; "" means where the server waits.
	Elsewhere string
	// OneByOne loses commands that arrive together with another.
	OneByOne bool
	// Sizes are what SIZE replies, by name in the tree, in place of the truth.
	Sizes map[string]int64
	// Announce puts the size of a file into the reply that begins its transfer, as most servers do:
	// "150 Opening BINARY mode data connection for NAME (1234 bytes).".
	Announce bool
	// Stray is what the server sends behind the reply that ends a transfer, with its line end.
	Stray string
	// Reuse refuses data connections that do not resume the TLS session of the control connection.
	Reuse bool
}

// A Server is a running server. Its content, for faults, is that of files and listings, which goes
// over data connections.
type Server struct {
	*servers.Server
	opts   Options
	logins atomic.Int64
}

// Start starts a server until the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server until Close.
func New(opts Options) (*Server, error) {
	cfg := servers.Config{Scheme: "ftp", Listen: opts.Listen}
	if opts.Implicit {
		cfg.Scheme, cfg.TLS = "ftps", opts.TLS
	}
	if opts.Tree == nil {
		opts.Tree = embed.FS{}
	}
	base, err := servers.Listen(cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(s.session)
	return s, nil
}

// host is where the server listens.
func (o *Options) host() string {
	host, _, _ := net.SplitHostPort(o.Listen)
	return cmp.Or(host, "127.0.0.1")
}

// Logins returns how many control connections have been logged in.
func (s *Server) Logins() int { return int(s.logins.Load()) }

// unknown reports whether the server is to not know a command.
func (s *Server) unknown(verb string) bool { return slices.Contains(s.opts.Unknown, verb) }

// features is the reply to FEAT.
func (s *Server) features() string {
	var b strings.Builder
	b.WriteString("211-Features:\r\n")
	for _, f := range []struct{ verb, text string }{
		{"MLSD", "MLST type*;size*;modify*;"}, {"SIZE", "SIZE"}, {"MDTM", "MDTM"}, {"REST", "REST STREAM"}, {"EPSV", "EPSV"},
	} {
		if !s.unknown(f.verb) {
			fmt.Fprintf(&b, " %s\r\n", f.text)
		}
	}
	b.WriteString("211 End")
	return b.String()
}
