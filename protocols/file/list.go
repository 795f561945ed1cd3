package file

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// listType is what a directory is delivered as: a URL a line (RFC 2483,
// section 5).
const listType = "text/uri-list"

// readChunk is how many members of a directory are held at a time.
const readChunk = 256

// directory answers a request for a directory.
func (d *driver) directory(ctx context.Context, req *fetch.Request, u uri.File, name string, f *os.File, info fs.FileInfo) (*fetch.Response, error) {
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/" // the base of relative references
	}
	meta := fetch.Meta{Kind: fetch.KindListing, ContentType: listType, Size: -1, Name: fetch.SafeName(info.Name())}
	meta.ModTime = info.ModTime()
	if req.Op == fetch.OpStat {
		return &fetch.Response{Meta: meta, URL: u.URI(), Body: http.NoBody}, nil
	}
	l := &listing{ctx: ctx, driver: d, url: u, name: name, dir: f}
	return &fetch.Response{Meta: meta, URL: u.URI(), Body: l, Entries: l.entries()}, nil
}

// A listing is the members of a directory as they come from the system, as
// lines or as entries.
type listing struct {
	ctx    context.Context
	driver *driver
	url    uri.File // with a slash at the end
	name   string   // the system's
	dir    *os.File
	chunk  []fs.DirEntry
	line   []byte // what Read has not delivered of a line
}

// next returns the next member, or io.EOF.
func (l *listing) next() (fs.DirEntry, error) {
	if err := context.Cause(l.ctx); err != nil {
		return nil, err
	}
	if len(l.chunk) == 0 {
		var err error
		if l.chunk, err = l.dir.ReadDir(readChunk); err == io.EOF {
			return nil, io.EOF
		} else if err != nil && len(l.chunk) == 0 {
			return nil, explain(err)
		}
	}
	member := l.chunk[0]
	l.chunk = l.chunk[1:]
	return member, nil
}

// member returns the URL of a member, and what is known of it. A link is
// described as what it leads to, if anything.
func (l *listing) member(m fs.DirEntry) (uri.URI, fs.FileInfo) {
	info, err := m.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if target, err := l.driver.stat(filepath.Join(l.name, m.Name())); err == nil {
			info = target
		}
	} else if err != nil {
		info = nil // removed meanwhile
	}
	u := l.url
	u.Path += m.Name()
	if info != nil && info.IsDir() {
		u.Path += "/"
	}
	return u.URI(), info
}

func (l *listing) Read(p []byte) (int, error) {
	for len(l.line) == 0 {
		m, err := l.next()
		if err != nil {
			return 0, err
		}
		if u, info := l.member(m); info != nil {
			l.line = append(append(l.line, u.String()...), "\r\n"...)
		}
	}
	n := copy(p, l.line)
	l.line = l.line[n:]
	return n, nil
}

func (l *listing) Close() error { return l.dir.Close() }

func (l *listing) entries() iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for {
			m, err := l.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			u, info := l.member(m)
			if info != nil && !yield(entry(u, m.Name(), info), nil) {
				return
			}
		}
	}
}

func entry(u uri.URI, name string, info fs.FileInfo) fetch.Entry {
	e := fetch.Entry{URL: u, Name: name, Rel: "item", Size: -1, ModTime: info.ModTime()}
	switch {
	case info.IsDir():
		e.Kind, e.ContentType = fetch.EntryListing, listType
	case info.Mode().IsRegular():
		e.Size, e.ContentType = info.Size(), fetch.TypeByName(name)
	}
	return e
}
