package fetchhttp

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// NewWebDAV returns a Handler that serves fsys over WebDAV (RFC 4918, class 1), for reading only. The
// paths of requests begin with prefix, such as "/tree". Content is served with ranges; files that cannot
// seek, unlike those of package fetchfs, are read up to them. Requests for a whole tree (Depth: infinity)
// are refused, as section 9.1 allows. There are no locks.
func NewWebDAV(fsys fs.FS, prefix string) http.Handler {
	return &davHandler{fsys: fsys, prefix: strings.TrimSuffix(prefix, "/")}
}

type davHandler struct {
	fsys   fs.FS
	prefix string
}

const davMethods = "OPTIONS, GET, HEAD, PROPFIND"

// refusedMethods are the known ones that a resource for reading does not allow. Others are not
// implemented (RFC 9110, section 9.1).
var refusedMethods = []string{"PUT", "POST", "DELETE", "PATCH", "TRACE", "CONNECT",
	"PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK"}

func (h *davHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, h.prefix)
	if !ok || rest != "" && rest[0] != '/' {
		http.NotFound(w, r)
		return
	}
	if strings.ContainsAny(rest, "\x00\r\n") {
		http.Error(w, "no URL has such a name", http.StatusBadRequest)
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
		h.propfind(w, r, fsName(rest))
	default:
		status := http.StatusNotImplemented
		if slices.Contains(refusedMethods, r.Method) {
			status = http.StatusMethodNotAllowed
		}
		w.Header().Set("Allow", davMethods)
		http.Error(w, "the tree is read-only", status)
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
	if err == nil {
		err = checkSlash(r, info)
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
	if tag := tagOf(info); tag != "" {
		w.Header().Set("Etag", tag)
	}
	content, ok := f.(io.ReadSeeker)
	if !ok && info.Size() >= 0 {
		again := &rereader{fsys: h.fsys, name: name, size: info.Size(), file: f}
		defer again.Close()
		content, ok = again, true
	}
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
		// without empty elements, the first of which would begin the name of a host
		to := url.URL{Path: path.Clean("/"+r.URL.Path) + "/"}
		http.Redirect(w, r, to.EscapedPath(), http.StatusMovedPermanently)
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

// checkSlash returns an error if a request names a directory by the slash at its end, and there is a file.
func checkSlash(r *http.Request, info fs.FileInfo) error {
	if strings.HasSuffix(r.URL.Path, "/") && !info.IsDir() {
		return &fs.PathError{Op: "open", Path: info.Name() + "/", Err: fs.ErrNotExist}
	}
	return nil
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

// tagOf returns the entity tag of a file, or "".
func tagOf(info fs.FileInfo) string {
	if m, ok := info.Sys().(*fetch.Meta); ok && m != nil && isEntityTag(m.ETag) {
		return m.ETag
	}
	return ""
}

// isEntityTag reports whether s is one of HTTP (RFC 9110, section 8.8.3). Drivers of other protocols make
// validators without quotes.
func isEntityTag(s string) bool {
	inner, ok := strings.CutPrefix(strings.TrimPrefix(s, "W/"), `"`)
	if !ok || !strings.HasSuffix(inner, `"`) {
		return false
	}
	isForbidden := func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f }
	return !strings.ContainsFunc(inner[:len(inner)-1], isForbidden)
}

// typeOf returns the media type of a file, without reading it.
func typeOf(info fs.FileInfo) string {
	if m, ok := info.Sys().(*fetch.Meta); ok && m != nil && m.ContentType != "" {
		return m.ContentType
	}
	name := info.Name()
	return cmp.Or(fetch.TypeByName(name), mime.TypeByExtension(path.Ext(name)), "application/octet-stream")
}
