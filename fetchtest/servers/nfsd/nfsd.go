// Package nfsd is a server of NFS version 3 over TCP for tests, with the MOUNT protocol and a port
// mapper (RFC 1813, RFC 1833) at the same port. It serves a tree of files to read, and fails on
// request.
package nfsd

import (
	"io/fs"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/nfs3"
)

// Options say what a server has and does.
type Options struct {
	// Tree holds the files. The root of it is "/".
	Tree fs.FS
	// Public is the public directory (RFC 2054), "" if there is none: a path in Tree such as "." or
	// "pub".
	Public string
	// Exports are the paths of what the MOUNT protocol gives access to; nil means "/".
	Exports []string
	// Quiet refuses to say what is exported.
	Quiet bool
	// Flavors are those of authentication that the MOUNT protocol names; nil means AUTH_SYS.
	Flavors []uint32
	// Users are those who may ask; nil means everybody. Others are not believed.
	Users []uint32
	// Without are programs that the server does not have.
	Without []uint32
	// MountPort is what the port mapper tells; 0 means the port of the server itself.
	MountPort uint16
	// Versions, if not 0, is the only version of NFS that the server has.
	Version uint32
	// MaxRead is how many bytes an answer has at most; 0 means as many as are asked for.
	MaxRead int
	// Batch is how many names an answer has at most; 0 means as many as fit.
	Batch int
	// NoPlus makes READDIRPLUS unknown, and NoAttr leaves out attributes wherever that is allowed.
	NoPlus, NoAttr bool
	// Fragment, if not 0, is how many bytes a fragment of a record has.
	Fragment int
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
}

// A Server is a running NFS server. Its content, for faults, is that of the files and listings: a
// failure is taken at the first READ of a file or READDIR of a directory. Abort answers with a
// failure, Short with the end of the file.
type Server struct {
	*servers.Server
	// Port is the port of the server.
	Port uint16

	opts Options

	mu      sync.Mutex
	handles map[string]string // file handles to paths in the tree
	served  int64
	mounted map[string]int
}

// Start starts a server until the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server until Close.
func New(opts Options) (*Server, error) {
	base, err := servers.Listen(servers.Config{Scheme: "nfs", Listen: opts.Listen})
	if err != nil {
		return nil, err
	}
	if opts.Exports == nil {
		opts.Exports = []string{"/"}
	}
	if opts.Version == 0 {
		opts.Version = 3
	}
	s := &Server{Server: base, opts: opts, handles: make(map[string]string), mounted: make(map[string]int)}
	_, port, _ := net.SplitHostPort(base.Addr)
	n, _ := strconv.ParseUint(port, 10, 16)
	s.Port = uint16(n)
	for _, x := range opts.Exports {
		s.handle(local(x))
	}
	base.Serve(s.serve)
	return s, nil
}

// Served returns how many bytes of files have been sent.
func (s *Server) Served() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// Mounted returns how many clients have said that they mount an export, and not yet that they no
// longer do.
func (s *Server) Mounted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, m := range s.mounted {
		n += m
	}
	return n
}

// Forget makes the server forget all file handles, as one does that was restarted without care.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.handles)
}

// handle returns the file handle of a path in the tree.
func (s *Server) handle(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := "nfsd " + strconv.FormatUint(number(name), 36)
	s.handles[h] = name
	return h
}

// path returns the path of a file handle.
func (s *Server) path(handle string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := s.handles[handle]
	return name, ok
}

// number returns a number for a path (FNV-1a).
func number(name string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// local returns the name in the tree of a path.
func local(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		return "."
	}
	return name
}

// exported reports whether the path in the tree is in one of the exports or in the public directory.
func (s *Server) exported(name string) bool {
	dirs := []string{}
	if s.opts.Public != "" {
		dirs = append(dirs, s.opts.Public)
	}
	for _, x := range s.opts.Exports {
		dirs = append(dirs, local(x))
	}
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
	})
}

// attr returns the attributes of a file.
func attr(name string, info fs.FileInfo) nfs3.Attr {
	a := nfs3.Attr{Type: nfs3.TypeRegular, Mode: uint32(info.Mode().Perm()), Links: 1, UID: 1000, GID: 1000,
		Size: uint64(info.Size()), Used: uint64(info.Size()), FSID: 1, FileID: number(name)}
	a.MTime = nfs3.TimeOf(info.ModTime())
	a.CTime, a.ATime = a.MTime, a.MTime
	switch mode := info.Mode(); {
	case mode.IsDir():
		a.Type, a.Size = nfs3.TypeDir, 4096
	case mode&fs.ModeSymlink != 0:
		a.Type = nfs3.TypeLink
	case mode&fs.ModeNamedPipe != 0:
		a.Type = nfs3.TypeFIFO
	}
	return a
}
