// Package fetchfs shows a tree of URLs as an fs.FS.
package fetchfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// An FS is the tree below a URL. It implements fs.FS, fs.StatFS and
// fs.ReadDirFS. It remembers nothing: each call asks the server.
//
// The URL of a name is that of the root with the elements of the name,
// escaped, added to its path. So an FS is of use for schemes whose paths are
// hierarchies, such as file and ftp, but not for gopher or news. Where a
// server lists nothing, as with HTTP, files can be opened but directories
// cannot.
type FS struct {
	ctx    context.Context
	client *fetch.Client
	root   uri.URI
	err    error
}

// New returns the tree below rawURL, whose final slash may be missing. All
// calls of the FS and its files are bounded by ctx, as fs.FS has no place for
// a context. If rawURL is malformed, every call says so.
func New(ctx context.Context, c *fetch.Client, rawURL string) *FS {
	root, err := uri.Parse(rawURL)
	if err == nil && !strings.HasSuffix(root.Path(), "/") {
		last := root.Path()[strings.LastIndexByte(root.Path(), '/')+1:]
		root = root.Resolve(uri.MustParse("./" + last + "/"))
	}
	return &FS{ctx: ctx, client: c, root: root, err: err}
}

// url returns the URL of a name, with a final slash if it is to be that of a
// directory.
func (f *FS) url(op, name string, dir bool) (string, error) {
	switch {
	case !fs.ValidPath(name):
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	case f.err != nil:
		return "", &fs.PathError{Op: op, Path: name, Err: f.err}
	case name == ".":
		return f.root.String(), nil
	}
	elements := strings.Split(name, "/")
	for i, e := range elements {
		elements[i] = uri.Escape(e)
	}
	ref := strings.Join(elements, "/")
	if dir {
		ref += "/"
	}
	return f.root.Resolve(uri.MustParse(ref)).String(), nil
}

// Open implements fs.FS. What cannot be retrieved is tried as a directory.
// Files are streams: they have no Seek.
func (f *FS) Open(name string) (fs.File, error) {
	u, err := f.url("open", name, false)
	if err != nil {
		return nil, err
	}
	if name != "." {
		resp, err := f.client.Get(f.ctx, u)
		switch {
		case err == nil && resp.Kind != fetch.KindListing:
			return &file{info: metaInfo(name, &resp.Meta), body: resp.Body}, nil
		case err == nil:
			resp.Body.Close()
		default:
			d, dirErr := f.directory("open", name)
			if dirErr != nil {
				return nil, &fs.PathError{Op: "open", Path: name, Err: err}
			}
			return d, nil
		}
	}
	d, err := f.directory("open", name)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Stat implements fs.StatFS. A size that the server does not tell is -1.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	u, err := f.url("stat", name, false)
	if err != nil {
		return nil, err
	}
	if name == "." {
		return dirInfo(name, time.Time{}), nil
	}
	meta, err := f.client.Stat(f.ctx, u)
	switch {
	case err == nil && meta.Kind != fetch.KindListing:
		return metaInfo(name, meta), nil
	case err == nil:
		return dirInfo(name, meta.ModTime), nil
	}
	if _, dirErr := f.ReadDir(name); dirErr == nil {
		return dirInfo(name, time.Time{}), nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
}

// ReadDir implements fs.ReadDirFS. Members whose names are not single path
// elements are left out.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) { return f.list("readdir", name) }

func (f *FS) list(op, name string) ([]fs.DirEntry, error) {
	u, err := f.url(op, name, true)
	if err != nil {
		return nil, err
	}
	var list []fs.DirEntry
	for e, err := range f.client.List(f.ctx, u) {
		if err != nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: err}
		}
		base := strings.TrimSuffix(e.Name, "/")
		isMember := e.Rel != "parent" && (e.Kind == fetch.EntryObject || e.Kind == fetch.EntryListing)
		if isMember && base != "." && !strings.Contains(base, "/") && fs.ValidPath(base) {
			list = append(list, &dirEntry{fsys: f, entry: e, name: base, path: path.Join(name, base)})
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func (f *FS) directory(op, name string) (*directory, error) {
	list, err := f.list(op, name)
	if err != nil {
		return nil, err
	}
	return &directory{name: name, left: list}, nil
}

// info is what is known of a file or directory.
type info struct {
	name    string
	size    int64
	mode    fs.FileMode
	modTime time.Time
	sys     any
}

func metaInfo(name string, m *fetch.Meta) info {
	return info{name: path.Base(name), size: m.Size, mode: 0o444, modTime: m.ModTime, sys: m}
}

func dirInfo(name string, modTime time.Time) info {
	return info{name: path.Base(name), mode: fs.ModeDir | 0o555, modTime: modTime}
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.modTime }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return i.sys } // a *fetch.Meta, or nil

// A dirEntry is a member of a listing.
type dirEntry struct {
	fsys  *FS
	entry fetch.Entry
	name  string
	path  string
}

func (d *dirEntry) Name() string               { return d.name }
func (d *dirEntry) IsDir() bool                { return d.entry.Kind == fetch.EntryListing }
func (d *dirEntry) String() string             { return fs.FormatDirEntry(d) }
func (d *dirEntry) Info() (fs.FileInfo, error) { return d.fsys.Stat(d.path) }

func (d *dirEntry) Type() fs.FileMode {
	if d.IsDir() {
		return fs.ModeDir
	}
	return 0
}

// A file is an open resource.
type file struct {
	info info
	body io.ReadCloser
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Read(p []byte) (int, error) { return f.body.Read(p) }
func (f *file) Close() error               { return f.body.Close() }

// WriteTo passes on the body's own WriteTo.
func (f *file) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, f.body) }

// A directory is an open listing, which has been read.
type directory struct {
	name string
	left []fs.DirEntry
}

func (d *directory) Stat() (fs.FileInfo, error) { return dirInfo(d.name, time.Time{}), nil }
func (d *directory) Close() error               { return nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: errors.New("is a directory")}
}

func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.left)
	} else if len(d.left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.left))
	list := d.left[:n:n]
	d.left = d.left[n:]
	return list, nil
}

var (
	_ fs.StatFS      = (*FS)(nil)
	_ fs.ReadDirFS   = (*FS)(nil)
	_ fs.ReadDirFile = (*directory)(nil)
)
