// Package ftpd is an FTP server for tests. It serves a file system, optionally over TLS, logs
// commands, and fails on request.
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

// Options configure a server. The zero value has no files, no TLS and accepts every login.
type Options struct {
	// Tree holds the files. Nil means no files. Files that do not implement io.ReaderAt are read
	// into memory for each transfer. Listings show the symbolic links of a [fs.ReadLinkFS] as such.
	Tree fs.FS
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1. Data
	// connections use the same host.
	Listen string
	// TLS is the configuration for AUTH TLS. If nil, the server does not support TLS.
	TLS *tls.Config
	// Implicit starts TLS with the connection.
	Implicit bool
	// Users maps users to passwords. Nil accepts every login.
	Users map[string]string
	// Account is the account that ACCT must send. "" means that none is required.
	Account string
	// Unknown lists commands that get reply 502.
	Unknown []string
	// Replies maps commands to replies, with line ends, that replace the server's own. The command
	// "" means the greeting. A reply of "" sends nothing. These commands have no effect.
	Replies map[string]string
	// Elsewhere is the address in PASV replies, as "192,0,2,1". "" means the server's own.
	Elsewhere string
	// OneByOne drops commands that arrive together with another one.
	OneByOne bool
	// Sizes maps names in the tree to false sizes for SIZE.
	Sizes map[string]int64
	// Announce adds the file size to the reply that starts a transfer, as most servers do: "150
	// Opening BINARY mode data connection for NAME (1234 bytes).".
	Announce bool
	// Listing, if not nil, replaces listings: it returns the lines of a listing and the reply that
	// ends it, both with line ends, for a command (MLSD, LIST or NLST) and a directory, such as "/"
	// or "/pub". If both are empty, the server sends its own listing.
	Listing func(command, dir string) (lines, end string)
	// NoRestart replies to REST as if it had an effect.
	NoRestart bool
	// NoNotify ends TLS on data connections without close_notify.
	NoNotify bool
	// Stray is sent after the reply that ends a transfer. It includes its line end.
	Stray string
	// Deaf makes the server neither read nor write after it has lost a data connection, until the
	// client closes the control connection.
	Deaf bool
	// Reuse refuses data connections that do not resume the TLS session of the control connection.
	Reuse bool
}

// A Server is a running FTP server. Faults apply to files and listings on data connections.
type Server struct {
	*servers.Server
	opts   Options
	logins atomic.Int64
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close.
func New(opts Options) (*Server, error) {
	cfg := servers.Config{Scheme: "ftp", Listen: opts.Listen}
	if opts.Implicit {
		cfg.Scheme, cfg.TLS = "ftps", opts.TLS
	}
	opts.Tree = cmp.Or[fs.FS](opts.Tree, embed.FS{})
	base, err := servers.Listen(cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(s.session)
	return s, nil
}

// host returns the host that the server listens on.
func (o *Options) host() string {
	host, _, _ := net.SplitHostPort(o.Listen)
	return cmp.Or(host, "127.0.0.1")
}

// Logins returns the number of successful logins.
func (s *Server) Logins() int { return int(s.logins.Load()) }

// unknown reports whether the options disable a command.
func (s *Server) unknown(verb string) bool { return slices.Contains(s.opts.Unknown, verb) }

// features returns the reply to FEAT.
func (s *Server) features() string {
	var b strings.Builder
	b.WriteString("211-Features:\r\n")
	for _, f := range []struct{ verb, text string }{
		{"MLSD", "MLST type*;size*;modify*;"}, {"SIZE", "SIZE"}, {"MDTM", "MDTM"}, {"REST",
			"REST STREAM"}, {"EPSV", "EPSV"},
	} {
		if !s.unknown(f.verb) {
			fmt.Fprintf(&b, " %s\r\n", f.text)
		}
	}
	b.WriteString("211 End")
	return b.String()
}
