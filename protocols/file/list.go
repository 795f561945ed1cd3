package file

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

const readChunk = 256

func (d *opener) directory(
	ctx context.Context, req *fetch.Request, u uri.File, name string, f *os.File, info fs.FileInfo,
) (*fetch.Response, error) {
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/" // the base of relative references
	}
	base, err := u.URI()
	if err != nil {
		return nil, err
	}
	resp, read := remotefile.Listing(req, base, info.Name(), info.ModTime())
	if !read {
		return resp, nil
	}
	l := &listing{ctx: ctx, driver: d, url: u, name: name, dir: f}
	driver.SetParts(resp, l.parts, f.Close)
	return resp, nil
}

type listing struct {
	ctx    context.Context
	driver *opener
	url    uri.File // with a trailing slash
	name   string   // on this system
	dir    *os.File
	chunk  []fs.DirEntry
	err    error // after chunk
}

func (l *listing) next() (fs.DirEntry, error) {
	if err := context.Cause(l.ctx); err != nil {
		return nil, err
	}
	if len(l.chunk) == 0 && l.err == nil {
		l.chunk, l.err = l.dir.ReadDir(readChunk)
	}
	switch {
	case len(l.chunk) > 0: // an error follows them
	case l.err == io.EOF:
		return nil, io.EOF
	default:
		return nil, explain(l.err)
	}
	member := l.chunk[0]
	l.chunk = l.chunk[1:]
	return member, nil
}

// member returns the URL, metadata and facts of a member. The URL is zero if it would be too long,
// and the metadata are nil if the member was removed. For a symbolic link, they are those of its
// target, if it exists.
func (l *listing) member(m fs.DirEntry) (uri.URI, fs.FileInfo, Member) {
	info, err := m.Info()
	var own Member
	if err == nil {
		own.Mode = unixMode(info.Mode())
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		own.Target = l.driver.readlink(filepath.Join(l.name, m.Name()))
		if target, err := l.driver.stat(filepath.Join(l.name, m.Name())); err == nil {
			info = target
		}
	} else if err != nil {
		info = nil // removed after it was listed
	}
	u := l.url
	u.Path += m.Name()
	if info != nil && info.IsDir() {
		u.Path += "/"
	}
	target, err := u.URI()
	if err != nil {
		return uri.URI{}, nil, own // too long for a URL
	}
	return target, info, own
}

func (l *listing) parts(yield func(driver.Part, error) bool) {
	for {
		m, err := l.next()
		if err == io.EOF {
			return
		}
		if err != nil {
			yield(driver.Part{}, err)
			return
		}
		u, info, own := l.member(m)
		if info == nil {
			continue
		}
		if !yield(driver.URIListPart("", entry(u, m.Name(), info, own)), nil) {
			return
		}
	}
}

// A Member is the Sys of an entry. It has facts that only this driver knows.
type Member struct {
	Mode   string `fact:"mode,optional"`   // as ls prints it; of a symbolic link, its own
	Target string `fact:"target,optional"` // of a symbolic link, unresolved
}

// EntryFacts implements [fetch.EntryRecord].
func (m Member) EntryFacts() fetch.Facts { return driver.FactsOf("file", "", m) }

// unixMode returns a mode as ls prints it.
func unixMode(mode fs.FileMode) string {
	text := []byte("-rwxrwxrwx")
	for i := range 9 {
		if mode&(1<<(8-i)) == 0 {
			text[1+i] = '-'
		}
	}
	switch {
	case mode&fs.ModeDir != 0:
		text[0] = 'd'
	case mode&fs.ModeSymlink != 0:
		text[0] = 'l'
	case mode&fs.ModeNamedPipe != 0:
		text[0] = 'p'
	case mode&fs.ModeSocket != 0:
		text[0] = 's'
	case mode&fs.ModeCharDevice != 0:
		text[0] = 'c'
	case mode&fs.ModeDevice != 0:
		text[0] = 'b'
	}
	for _, special := range []struct {
		bit   fs.FileMode
		at    int
		x, no byte // with and without execute permission
	}{{fs.ModeSetuid, 3, 's', 'S'}, {fs.ModeSetgid, 6, 's', 'S'}, {fs.ModeSticky, 9, 't', 'T'}} {
		switch {
		case mode&special.bit == 0:
		case text[special.at] == 'x':
			text[special.at] = special.x
		default:
			text[special.at] = special.no
		}
	}
	return string(text)
}

func entry(u uri.URI, name string, info fs.FileInfo, own Member) fetch.Entry {
	if info.IsDir() {
		return remotefile.Directory(u, name, info.ModTime(), own)
	}
	e := remotefile.File(u, name, -1, info.ModTime(), own)
	if info.Mode().IsRegular() {
		e.Size = info.Size()
	} else {
		e.ContentType = "" // it has no content
	}
	return e
}
