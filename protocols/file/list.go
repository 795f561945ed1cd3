package file

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// listType is the media type of a directory: one URL per line (RFC 2483, section 5).
const listType = "text/uri-list"

// readChunk is how many directory entries are read at a time.
const readChunk = 256

// directory returns the response for a directory.
func (d *driver) directory(ctx context.Context, req *fetch.Request, u uri.File, name string, f *os.File, info fs.FileInfo) (*fetch.Response, error) {
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/" // the base of relative references
	}
	base, err := u.URI()
	if err != nil {
		return nil, err
	}
	meta := fetch.Meta{Kind: fetch.KindListing, ContentType: listType, Size: -1, Name: fetch.SafeName(info.Name())}
	meta.ModTime = info.ModTime()
	if req.Op == fetch.OpStat {
		return &fetch.Response{Meta: meta, URL: base, Body: fetch.NoBody}, nil
	}
	l := &listing{ctx: ctx, driver: d, url: u, name: name, dir: f}
	resp := &fetch.Response{Meta: meta, URL: base}
	resp.Body, resp.Parse = fetch.NewListing(l.parts, f.Close)
	return resp, nil
}

// A listing reads the members of a directory from the system.
type listing struct {
	ctx    context.Context
	driver *driver
	url    uri.File // with a trailing slash
	name   string   // on this system
	dir    *os.File
	chunk  []fs.DirEntry
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

// member returns the URL of a member, or zero if that would be too long, and its metadata, or nil if
// it has been removed. For a symbolic link, the metadata is that of its target, if there is one.
func (l *listing) member(m fs.DirEntry) (uri.URI, fs.FileInfo) {
	info, err := m.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if target, err := l.driver.stat(filepath.Join(l.name, m.Name())); err == nil {
			info = target
		}
	} else if err != nil {
		info = nil // removed in the meantime
	}
	u := l.url
	u.Path += m.Name()
	if info != nil && info.IsDir() {
		u.Path += "/"
	}
	target, err := u.URI()
	if err != nil {
		return uri.URI{}, nil // too long for a URL
	}
	return target, info
}

// parts yields the line and the entry of each member.
func (l *listing) parts(yield func(fetch.Part, error) bool) {
	for {
		m, err := l.next()
		if err == io.EOF {
			return
		}
		if err != nil {
			yield(fetch.Part{}, err)
			return
		}
		u, info := l.member(m)
		if info == nil {
			continue
		}
		part := fetch.Part{Text: []byte(u.String() + "\r\n"), Entries: []fetch.Entry{entry(u, m.Name(), info)}}
		if !yield(part, nil) {
			return
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
