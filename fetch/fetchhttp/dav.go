package fetchhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/webdav"

	"github.com/urlget/urlget/fetch"
)

// NewWebDAV returns a Handler that serves fsys over WebDAV (RFC 4918, class 1), for reading only. The
// paths of requests begin with prefix, such as "/tree". Content is served with ranges, if files can
// seek, as those of package fetchfs can. Requests for a whole tree (Depth: infinity) are refused, as
// section 9.1 allows.
func NewWebDAV(fsys fs.FS, prefix string) http.Handler {
	return &davHandler{fsys: fsys, prefix: strings.TrimSuffix(prefix, "/")}
}

type davHandler struct {
	fsys   fs.FS
	prefix string
}

const (
	davMethods = "OPTIONS, GET, HEAD, PROPFIND"
	// finiteDepth refuses Depth: infinity (RFC 4918, section 9.1).
	finiteDepth = `<?xml version="1.0"?>
<D:error xmlns:D="DAV:"><D:propfind-finite-depth/></D:error>
`
)

func (h *davHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, h.prefix)
	if !ok || rest != "" && rest[0] != '/' {
		http.NotFound(w, r)
		return
	}
	switch r.Method {
	case http.MethodOptions:
		w.Header().Set("Allow", davMethods)
		w.Header().Set("DAV", "1")
		w.Header().Set("MS-Author-Via", "DAV")
	case http.MethodGet, http.MethodHead:
		h.get(w, r, fsName(rest))
	case "PROPFIND":
		if depth := r.Header.Get("Depth"); depth != "0" && depth != "1" {
			w.Header().Set("Content-Type", "application/xml; charset=utf-8")
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, finiteDepth)
			return
		}
		dav := webdav.Handler{Prefix: h.prefix, FileSystem: &davFS{fsys: h.fsys},
			LockSystem: webdav.NewMemLS()}
		dav.ServeHTTP(w, r)
	default:
		w.Header().Set("Allow", davMethods)
		http.Error(w, "the tree is read-only", http.StatusMethodNotAllowed)
	}
}

func fsName(p string) string { return cmp.Or(strings.TrimPrefix(path.Clean("/"+p), "/"), ".") }

func (h *davHandler) get(w http.ResponseWriter, r *http.Request, name string) {
	f, err := h.fsys.Open(name)
	var info fs.FileInfo
	if err == nil {
		defer f.Close()
		info, err = f.Stat()
	}
	if err != nil {
		http.Error(w, fetch.Printable(err.Error()), davStatus(err))
		return
	}
	sandbox(w)
	if info.IsDir() {
		h.page(w, r, f)
		return
	}
	w.Header().Set("Content-Type", typeOf(info))
	content, ok := f.(io.ReadSeeker)
	if ok && info.Size() >= 0 {
		http.ServeContent(w, r, "", info.ModTime(), content)
		return
	}
	if r.Method == http.MethodGet {
		send(w, r, f)
	}
}

func (h *davHandler) page(w http.ResponseWriter, r *http.Request, f fs.File) {
	if !strings.HasSuffix(r.URL.Path, "/") {
		http.Redirect(w, r, (&url.URL{Path: r.URL.Path + "/"}).EscapedPath(), http.StatusMovedPermanently)
		return
	}
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		http.Error(w, "not a directory", http.StatusNotFound)
		return
	}
	list, err := dir.ReadDir(-1)
	if err != nil {
		http.Error(w, fetch.Printable(err.Error()), davStatus(err))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!DOCTYPE html>\n<title>%s</title>\n<ul>\n", markup(r.URL.Path))
	for _, e := range list {
		name, ref := e.Name(), "./"+url.PathEscape(e.Name())
		if e.IsDir() {
			name, ref = name+"/", ref+"/"
		}
		fmt.Fprintf(w, "<li><a href=\"%s\">%s</a>\n", markup(ref), markup(name))
	}
	io.WriteString(w, "</ul>\n")
}

func davStatus(err error) int {
	switch {
	case errors.Is(err, fs.ErrInvalid):
		return http.StatusBadRequest
	case errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound
	}
	return Status(err)
}

// typeOf returns the media type of a file, without reading it.
func typeOf(info fs.FileInfo) string {
	if m, ok := info.Sys().(*fetch.Meta); ok && m != nil && m.ContentType != "" {
		return m.ContentType
	}
	name := info.Name()
	return cmp.Or(fetch.TypeByName(name), mime.TypeByExtension(path.Ext(name)), "application/octet-stream")
}

// A davFS is the tree during a PROPFIND. It remembers the members of the directory that was read, so
// that a listing with sizes takes one request.
type davFS struct {
	fsys  fs.FS
	known map[string]fs.FileInfo
}

func (d *davFS) Mkdir(context.Context, string, os.FileMode) error      { return fs.ErrPermission }
func (d *davFS) RemoveAll(context.Context, string) error               { return fs.ErrPermission }
func (d *davFS) Rename(_ context.Context, _, _ string) error           { return fs.ErrPermission }
func (d *davFS) Stat(_ context.Context, p string) (os.FileInfo, error) { return d.stat(fsName(p)) }

func (d *davFS) stat(name string) (fs.FileInfo, error) {
	if info, ok := d.known[name]; ok {
		return info, nil
	}
	info, err := fs.Stat(d.fsys, name)
	if err != nil {
		if davStatus(err) == http.StatusNotFound {
			err = fs.ErrNotExist
		}
		return nil, err
	}
	return davInfo{info}, nil
}

// OpenFile returns a file whose content is not read.
func (d *davFS) OpenFile(_ context.Context, p string, _ int, _ os.FileMode) (webdav.File, error) {
	info, err := d.stat(fsName(p))
	if err != nil {
		return nil, err
	}
	return &davFile{fs: d, name: fsName(p), info: info}, nil
}

type davFile struct {
	fs   *davFS
	name string
	info fs.FileInfo
}

func (f *davFile) Close() error                   { return nil }
func (f *davFile) Read([]byte) (int, error)       { return 0, fs.ErrPermission }
func (f *davFile) Write([]byte) (int, error)      { return 0, fs.ErrPermission }
func (f *davFile) Seek(int64, int) (int64, error) { return 0, fs.ErrPermission }
func (f *davFile) Stat() (fs.FileInfo, error)     { return f.info, nil }

// parallelStats is the number of members whose metadata are requested at once.
const parallelStats = 4

func (f *davFile) Readdir(int) ([]fs.FileInfo, error) {
	list, err := fs.ReadDir(f.fs.fsys, f.name)
	if err != nil {
		return nil, err
	}
	infos := make([]fs.FileInfo, len(list))
	slots := make(chan struct{}, parallelStats)
	var wait sync.WaitGroup
	for i, e := range list {
		if infos[i] = listedInfo(e); infos[i] != nil {
			continue
		}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			if info, err := e.Info(); err == nil {
				infos[i] = davInfo{info}
			}
		})
	}
	wait.Wait()
	f.fs.known = make(map[string]fs.FileInfo, len(list))
	kept := infos[:0]
	for i, info := range infos {
		if info != nil { // it has not been removed in the meantime
			f.fs.known[path.Join(f.name, list[i].Name())] = info
			kept = append(kept, info)
		}
	}
	return kept, nil
}

// listedInfo returns the metadata of a member as far as the listing has them, or nil if the size of a
// file is missing.
func listedInfo(e fs.DirEntry) fs.FileInfo {
	listed, ok := e.(interface{ Entry() fetch.Entry })
	if !ok {
		return nil
	}
	entry := listed.Entry()
	if !e.IsDir() && entry.Size < 0 {
		return nil
	}
	mode := fs.FileMode(0o444)
	if e.IsDir() {
		mode = fs.ModeDir | 0o555
	}
	meta := &fetch.Meta{ContentType: entry.ContentType}
	return davInfo{entryInfo{e.Name(), max(entry.Size, 0), mode, entry.ModTime, meta}}
}

type entryInfo struct {
	name    string
	size    int64
	mode    fs.FileMode
	modTime time.Time
	meta    *fetch.Meta
}

func (i entryInfo) Name() string       { return i.name }
func (i entryInfo) Size() int64        { return i.size }
func (i entryInfo) Mode() fs.FileMode  { return i.mode }
func (i entryInfo) ModTime() time.Time { return i.modTime }
func (i entryInfo) IsDir() bool        { return i.mode.IsDir() }
func (i entryInfo) Sys() any           { return i.meta }

// A davInfo has the properties that package webdav would otherwise read from the file.
type davInfo struct{ fs.FileInfo }

// ModTime returns the first time that clients accept, if it is unknown.
func (i davInfo) ModTime() time.Time {
	if t := i.FileInfo.ModTime(); !t.IsZero() {
		return t
	}
	return time.Unix(0, 0)
}

func (i davInfo) ContentType(context.Context) (string, error) { return typeOf(i.FileInfo), nil }

func (i davInfo) ETag(context.Context) (string, error) {
	if m, ok := i.Sys().(*fetch.Meta); ok && m != nil && strings.HasSuffix(m.ETag, `"`) {
		return m.ETag, nil
	}
	return "", webdav.ErrNotImplemented
}
