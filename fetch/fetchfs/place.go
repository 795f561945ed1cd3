package fetchfs

import (
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// hasPaths reports whether paths of the scheme of u are hierarchical: URL resolution removes dot
// segments from them.
func hasPaths(u uri.URI) bool {
	probe, err := uri.Parse(u.Scheme() + "://h/./x")
	return err != nil || probe.Resolve(probe) != probe
}

type place struct {
	url   uri.URI
	from  uri.URI // the listing that contains it; zero if no listing was read
	isDir bool    // known to be a directory
}

func (p place) request() *fetch.Request { return &fetch.Request{URL: p.url, From: p.from} }

func (f *FS) locate(op, name string) (place, error) {
	fail := func(err error) (place, error) { return place{}, &fs.PathError{Op: op, Path: name, Err: err} }
	switch {
	case !fs.ValidPath(name):
		return fail(fs.ErrInvalid)
	case f.err != nil:
		return fail(f.err)
	case name == ".":
		return place{url: f.root, isDir: true}, nil
	}
	dir, base := path.Split(name)
	dir = path.Clean(dir)
	if !f.listed {
		u, err := f.root.JoinPath(name)
		if err != nil {
			return fail(err)
		}
		return place{url: u, isDir: f.cachedListing(dir)[base].Kind == fetch.EntryListing}, nil
	}
	e, known := f.cachedListing(dir)[base]
	if !known {
		members, _, err := f.members(op, dir)
		if err != nil {
			return place{}, err
		}
		if e, known = members[base]; !known {
			return fail(fetch.ErrNotFound)
		}
	}
	return place{url: e.URL, from: f.root, isDir: e.Kind == fetch.EntryListing}, nil
}

func (f *FS) cachedListing(dir string) map[string]fetch.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dirs[dir]
}

func (f *FS) cacheListing(dir string, members map[string]fetch.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.dirs) == maxDirs {
		for any := range f.dirs {
			delete(f.dirs, any)
			break
		}
	}
	f.dirs[dir] = members
}

// members reads the listing of a directory. It returns the members that can be opened, by name, and
// the modification time of the directory.
func (f *FS) members(op, name string) (map[string]fetch.Entry, time.Time, error) {
	fail := func(err error) (map[string]fetch.Entry, time.Time, error) {
		return nil, time.Time{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	p, err := f.locate(op, name)
	if err != nil {
		return nil, time.Time{}, err
	}
	if !f.listed {
		if p.url, err = p.url.JoinPath("/"); err != nil {
			return fail(err)
		}
	}
	req := p.request()
	req.Op = fetch.OpList
	resp, err := f.list(f.ctx, req)
	if err != nil {
		return fail(err)
	}
	defer resp.Body.Close()
	if resp.Entries == nil {
		return fail(fetch.ErrNotRetrievable)
	}
	above, err := f.above(op, name)
	if err != nil {
		return nil, time.Time{}, err
	}
	page := resp.URL.Resolve(uri.MustParse("./"))
	members := make(map[string]fetch.Entry)
	for e, err := range resp.Entries {
		if err != nil {
			return fail(err)
		}
		if resp.Kind != fetch.KindListing {
			e = linkBelow(page, e)
		}
		base := strings.TrimSuffix(e.Name, "/")
		if _, twice := members[base]; !twice && f.isMember(e, base) && !above[e.URL.Normalize()] {
			members[base] = e
		}
	}
	f.cacheListing(name, members)
	return members, resp.ModTime, nil
}

// linkBelow returns a link of a page as an entry of the directory dir. The name is "" if that joined with
// dir is not the link.
func linkBelow(dir uri.URI, e fetch.Entry) fetch.Entry {
	e.Name, e.Kind = "", fetch.EntryObject
	segments := strings.TrimSuffix(e.URL.Path(), "/")
	name, err := uri.Unescape(segments[strings.LastIndexByte(segments, '/')+1:])
	if err != nil || e.URL.IsZero() {
		return e
	}
	elem := []string{name}
	if e.URL.IsDirectory() {
		e.Kind, elem = fetch.EntryListing, append(elem, "/")
	}
	if u, err := dir.JoinPath(elem...); err == nil && u.Normalize() == e.URL.WithoutFragment().Normalize() {
		e.Name = name
	}
	return e
}

// above returns the listings on the way to a directory, including itself. Links back to them are
// omitted, because they would make the tree infinite.
func (f *FS) above(op, name string) (map[uri.URI]bool, error) {
	if !f.listed {
		return nil, nil
	}
	set := map[uri.URI]bool{f.root.Normalize(): true}
	for ; name != "."; name = path.Dir(name) {
		p, err := f.locate(op, name)
		if err != nil {
			return nil, err
		}
		set[p.url.Normalize()] = true
	}
	return set, nil
}

func (f *FS) isMember(e fetch.Entry, base string) bool {
	switch {
	case e.Rel == "parent", e.Kind != fetch.EntryObject && e.Kind != fetch.EntryListing,
		base == ".", strings.Contains(base, "/"), !fs.ValidPath(base):
		return false
	}
	return !f.listed || e.URL.Origin() == f.root.Origin()
}
