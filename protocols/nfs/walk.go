package nfs

import (
	"context"
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

const (
	// maxLinks limits the symbolic links that are followed to a file.
	maxLinks = 40
	// maxDepth limits the elements of a path, including those of the links in it.
	maxDepth = 2 * nfs3.MaxPath
)

type node struct {
	handle string
	attr   nfs3.Attr
}

type walk struct {
	c  *conn
	at node
	// If public is set, names is the path from the public directory, or from the root of the server if
	// absolute is set. absoluteURL is set if the URL itself is absolute.
	public      bool
	names       []string
	absolute    bool
	absoluteURL bool
	// Otherwise where is the path of an export. dirs are the directories from the export, which is
	// the first, to at.
	where string
	dirs  []node
	// exports, if not nil, are the member names of a directory above exports.
	exports []string
}

func (d *opener) find(ctx context.Context, l *lease, t *target, s *server) (*walk, error) {
	known, err := s.lacksPublicHandle(ctx)
	if err != nil {
		return nil, err
	}
	if !known {
		w := &walk{c: l.conn, public: true, absoluteURL: t.absolute}
		err := w.lookup(t.names, t.absolute)
		if err == nil || !isNoPublicHandle(err) {
			return w, err
		}
	}
	x, where, below, err := d.findExport(ctx, l, t, s)
	if err != nil {
		return nil, err
	}
	w := &walk{c: l.conn, where: where, exports: below}
	if below != nil {
		return w, nil
	}
	if x.authNone {
		l.cred = nfs3.Cred{}
	}
	var a nfs3.Attr
	if err := l.call(nfs3.Getattr, where, nfs3.HandleArgs(x.handle),
		func(d *xdr.Decoder) { a = nfs3.ParseAttr(d) }); err != nil {
		if code := statusOf(err); code == nfs3.ErrStale || code == nfs3.ErrBadHandle {
			return nil, &fetch.Error{Code: fetch.ErrChanged, Retry: true,
				Err: errors.Join(errStaleHandle, err)}
		}
		return nil, err
	}
	w.at = node{x.handle, a}
	w.dirs = []node{w.at}
	return w, w.walk(remotefile.Elements(strings.TrimPrefix(t.path(), where)))
}

func statusOf(err error) nfs3.Status {
	if e := (*fetch.Error)(nil); errors.As(err, &e) && e.Reply.Code > 0 {
		return nfs3.Status(e.Reply.Code)
	}
	return nfs3.OK
}

// Servers without a public file handle return these errors (RFC 2224, section 7).
func isNoPublicHandle(err error) bool {
	switch statusOf(err) {
	case nfs3.ErrStale, nfs3.ErrInval, nfs3.ErrBadHandle, nfs3.ErrNotSupp, nfs3.ErrServerFault,
		nfs3.ErrBadType:
		return true
	}
	var e *fetch.Error
	return errors.As(err, &e) && (e.Reply.Text == "GARBAGE_ARGS" || e.Reply.Text == "SYSTEM_ERR")
}

// member returns a walk to a member of the directory at w. It does not change w.
func (w *walk) member(name string) (*walk, error) {
	next := *w
	next.names, next.dirs = w.names[:len(w.names):len(w.names)], w.dirs[:len(w.dirs):len(w.dirs)]
	if w.public {
		return &next, next.lookup(append(next.names, name), w.absolute)
	}
	return &next, next.walk([]string{name})
}

// lookup resolves a path from the public directory with multi-component lookups (RFC 2054, section
// 6). The server evaluates links within the path and leaves a link at its end to the client.
func (w *walk) lookup(names []string, absolute bool) error {
	for range maxLinks {
		path := canonical(names, absolute)
		at, err := w.c.lookup("", path)
		if err != nil {
			return err
		}
		if absolute && !w.absoluteURL && at.attr.FSID != w.at.attr.FSID {
			return outsideError()
		}
		w.at, w.names, w.absolute = at, names, absolute
		if !at.attr.IsLink() {
			return nil
		}
		text, err := w.c.readlink(at.handle)
		if err != nil {
			return err
		}
		if strings.HasPrefix(text, "/") {
			names, absolute = nil, true
		} else {
			names = names[:max(len(names)-1, 0)]
		}
		inside := false
		if names, inside = remotefile.Join(names, remotefile.Elements(text)); !inside {
			return outsideError()
		}
		if len(names) > maxDepth {
			return tooManyLinks()
		}
	}
	return tooManyLinks()
}

func (w *walk) walk(names []string) error {
	for links := 0; len(names) > 0; {
		name := names[0]
		names = names[1:]
		if name == ".." {
			if len(w.dirs) == 1 {
				return outsideError()
			}
			w.dirs = w.dirs[: len(w.dirs)-1 : len(w.dirs)-1]
			continue
		}
		at, err := w.c.lookup(w.dirs[len(w.dirs)-1].handle, name)
		if err != nil {
			return err
		}
		if !at.attr.IsLink() {
			w.dirs = append(w.dirs, at)
			continue
		}
		if links++; links > maxLinks || len(names) > maxDepth {
			return tooManyLinks()
		}
		text, err := w.c.readlink(at.handle)
		if err != nil {
			return err
		}
		if strings.HasPrefix(text, "/") {
			if !within(text, w.where) {
				return outsideError()
			}
			text, w.dirs = strings.TrimPrefix(text, w.where), w.dirs[:1:1]
		}
		names = append(remotefile.Elements(text), names...)
	}
	w.at = w.dirs[len(w.dirs)-1]
	return nil
}

func outsideError() error {
	return fetch.ErrPolicy.Errorf("a symbolic link leads out of the export")
}

func tooManyLinks() error {
	return fetch.ErrServer.Errorf("too many levels of symbolic links (more than %d)", maxLinks)
}
