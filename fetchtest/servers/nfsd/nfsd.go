// Package nfsd is an NFS version 3 server over TCP for tests. The MOUNT protocol and a port mapper
// (RFC 1813, RFC 1833) use the same port. It serves a tree of files read-only, and fails on
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

// Options configure a server.
type Options struct {
	// Tree holds the files. Its root is "/".
	Tree fs.FS
	// Public is the public directory (RFC 2054) as a path in Tree, such as "." or "pub". "" means
	// none.
	Public string
	// Exports lists the paths exported by the MOUNT protocol. Nil means "/".
	Exports []string
	// Quiet hides the list of exports.
	Quiet bool
	// Flavors lists the authentication flavors of the MOUNT protocol. Nil means AUTH_SYS.
	Flavors []uint32
	// Users lists the accepted user IDs. Nil accepts all users.
	Users []uint32
	// Without lists RPC programs that the server does not have.
	Without []uint32
	// MountPort is the port that the port mapper returns. 0 means the server's own.
	MountPort uint16
	// Version is the only supported version of NFS. 0 means 3.
	Version uint32
	// MaxRead limits the bytes of a READ reply. 0 means no limit.
	MaxRead int
	// Batch limits the entries of a READDIR reply. 0 means as many as fit.
	Batch int
	// NoPlus disables READDIRPLUS. NoAttr omits all optional attributes.
	NoPlus, NoAttr bool
	// Fragment is the size of record fragments in bytes. 0 means one fragment per record.
	Fragment int
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
}

// A Server is a running NFS server. Faults apply to files and listings. A failure is taken at the
// first READ of a file or READDIR of a directory. Abort returns an error; Short ends the file
// early.
type Server struct {
	*servers.Server
	// Port is the server's port.
	Port uint16

	opts Options

	mu      sync.Mutex
	handles map[string]string // maps file handles to paths in the tree
	served  int64
	mounted map[string]int
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close.
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

// Served returns the number of file bytes sent.
func (s *Server) Served() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// Mounted returns the number of mounts without an unmount.
func (s *Server) Mounted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, m := range s.mounted {
		n += m
	}
	return n
}

// Forget invalidates all file handles, as the restart of some servers does.
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

// path returns the path for a file handle.
func (s *Server) path(handle string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := s.handles[handle]
	return name, ok
}

// number returns a hash (FNV-1a) of a path.
func number(name string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// local returns the name of a path in the tree.
func local(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		return "."
	}
	return name
}

// exported reports whether a path in the tree is in an export or in the public directory.
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
