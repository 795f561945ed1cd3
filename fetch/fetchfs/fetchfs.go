// Package fetchfs presents a tree of URLs as an fs.FS.
package fetchfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// An FS is the tree below a URL. It implements fs.FS, fs.StatFS, fs.ReadDirFS and fs.ReadFileFS. It
// is safe for concurrent use. Every call sends a request.
//
// For schemes with hierarchical paths, such as file, ftp and http, the URL of a name is the root
// joined with the name by [uri.URI.JoinPath]. For other schemes, such as gopher, it is the URL in the
// listing, if that has the origin of the root. The FS reads and caches the listings on the way to
// it. If a server has no listings, as is usual over HTTP, files can be opened. Directories then require
// [FS.ListWith].
//
// The members of directories have a method Entry() fetch.Entry, which needs no request.
//
// Files are based on [fetch.Resource]: they implement io.Seeker, io.ReaderAt and io.WriterTo, so that
// http.FileServerFS serves ranges of them and archive/zip can read them.
type FS struct {
	ctx    context.Context
	client *fetch.Client
	root   uri.URI
	list   func(context.Context, *fetch.Request) (*fetch.Response, error)
	pages  bool // list may read pages
	err    error

	// listed is true if the URLs of names are found in listings. Otherwise listings show which names
	// are directories.
	listed bool
	mu     sync.Mutex
	dirs   map[string]map[string]fetch.Entry // members of directories, by directory and name
}

const (
	// maxDirs is the maximum number of cached listings.
	maxDirs = 256
	// maxMeasured bounds the bytes of a file that are read to determine its size if the server does not
	// report it.
	maxMeasured = 32 << 20
)

// New returns the tree below rawURL, with or without a trailing slash. The context applies to all
// calls of the FS and its files, because the methods of fs.FS do not take one. If rawURL is
// malformed, every call returns an error.
func New(ctx context.Context, c *fetch.Client, rawURL string) *FS {
	root, err := uri.Parse(rawURL)
	return &FS{ctx: ctx, client: c, list: c.Do, root: root, err: err, listed: !hasPaths(root),
		dirs: make(map[string]map[string]fetch.Entry)}
}

// ListWith makes the FS request listings by list, such as the method List of a links.Lister, which also
// reads pages of the web. The members of a directory are then the links of its page that are directly
// below it, under the names in their URLs; those that end with a slash are directories. It returns f, and
// must be called before any other method.
func (f *FS) ListWith(list func(context.Context, *fetch.Request) (*fetch.Response, error)) *FS {
	f.list, f.pages = list, true
	return f
}

// Open implements fs.FS. If name cannot be opened as a file, it is tried as a directory.
func (f *FS) Open(name string) (fs.File, error) {
	if name == "." {
		return f.openDir(name)
	}
	r, err := f.open("open", name)
	switch {
	case err == nil:
		return &file{name: name, resource: r}, nil
	case !mayBeDir(err):
		return nil, err
	}
	d, dirErr := f.openDir(name)
	if dirErr != nil {
		return nil, err
	}
	return d, nil
}

var errDir = errors.New("is a directory")

func (f *FS) open(op, name string) (*fetch.Resource, error) {
	p, err := f.locate(op, name)
	if err != nil {
		return nil, err
	}
	if p.isDir {
		return nil, &fs.PathError{Op: op, Path: name, Err: errDir}
	}
	r, err := f.client.Open(f.ctx, p.request())
	if err == nil && (r.Meta().Kind == fetch.KindListing || f.isPage(r.URL(), p)) {
		r.Close()
		err = errDir
	}
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return r, nil
}

// isPage reports whether a request for a place was redirected to the page of a directory.
func (f *FS) isPage(u uri.URI, p place) bool {
	return f.pages && !f.listed && u.IsDirectory() && !p.url.IsDirectory()
}

// mayBeDir reports whether a name that could not be opened as a file may be a directory.
func mayBeDir(err error) bool {
	switch fetch.CodeOf(err) {
	case fetch.ErrURL, fetch.ErrScheme, fetch.ErrPolicy, fetch.ErrNetwork, fetch.ErrTLS, fetch.ErrAuth,
		fetch.ErrBusy, fetch.ErrInterrupted, fetch.ErrTooLarge:
		return false
	}
	return true
}

// ReadFile implements fs.ReadFileFS.
func (f *FS) ReadFile(name string) ([]byte, error) {
	r, err := f.open("readfile", name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return data, &fs.PathError{Op: "readfile", Path: name, Err: err}
	}
	return data, nil
}

// Stat implements fs.StatFS. If the server does not report the size, Stat reads the file to determine
// it. The size is -1 if that takes more than 32 MiB.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	p, err := f.locate("stat", name)
	if err != nil {
		return nil, err
	}
	if p.isDir && (f.listed || name == ".") {
		return dirInfo(name, time.Time{}), nil
	}
	resp, err := f.client.Stat(f.ctx, p.request())
	switch {
	case err == nil && resp.Kind != fetch.KindListing && !p.isDir && !f.isPage(resp.URL, p):
		size := resp.Size
		if size < 0 {
			if size, err = f.measure(name); err != nil {
				return nil, err
			}
		}
		return metaInfo(name, &resp.Meta, size), nil
	case err == nil:
		return dirInfo(name, resp.ModTime), nil
	}
	err = &fs.PathError{Op: "stat", Path: name, Err: err}
	if mayBeDir(err) {
		if d, dirErr := f.openDir(name); dirErr == nil {
			return d.Stat()
		}
	}
	return nil, err
}

// measure reads a file to determine its size. The size is -1 if the file is too large for that.
func (f *FS) measure(name string) (int64, error) {
	r, err := f.open("stat", name)
	if err != nil {
		return -1, err
	}
	defer r.Close()
	size, err := r.Measure(maxMeasured)
	if err != nil && fetch.CodeOf(err) != fetch.ErrTooLarge {
		return -1, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return size, nil
}

// ReadDir implements fs.ReadDirFS. It omits members that cannot be opened by name: those whose names
// are not single path elements. If URLs come from listings, it also omits duplicate names, other
// origins, and links back to a listing on the way.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	members, _, err := f.members("readdir", name)
	if err != nil {
		return nil, err
	}
	return f.entries(name, members), nil
}

func (f *FS) entries(name string, members map[string]fetch.Entry) []fs.DirEntry {
	list := make([]fs.DirEntry, 0, len(members))
	for base, e := range members {
		list = append(list, &dirEntry{fsys: f, entry: e, name: base, path: path.Join(name, base)})
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}

func (f *FS) openDir(name string) (*directory, error) {
	members, modTime, err := f.members("open", name)
	if err != nil {
		return nil, err
	}
	if name == "." {
		modTime = time.Time{} // like Stat
	}
	return &directory{info: dirInfo(name, modTime), name: name, left: f.entries(name, members)}, nil
}

var (
	_ fs.StatFS     = (*FS)(nil)
	_ fs.ReadDirFS  = (*FS)(nil)
	_ fs.ReadFileFS = (*FS)(nil)
	_ fmt.Stringer  = (*dirEntry)(nil)
)
