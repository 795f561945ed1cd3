package nfs

import (
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// listCount limits the size of one READDIRPLUS result, in bytes.
const listCount = 32 << 10

// Sys is the additional information about an entry of a listing.
type Sys struct {
	Mode string  `fact:"mode,optional"` // as shown by ls: "-rw-r--r--"
	UID  *uint32 `fact:"uid"`
	GID  *uint32 `fact:"gid"`
	// Target is the target of a symbolic link. The other fields of the entry then describe the file
	// that the link leads to, if it is within the export.
	Target string `fact:"target,optional"`
}

// EntryFacts implements [fetch.EntryRecord].
func (s Sys) EntryFacts() fetch.Facts { return driver.FactsOf("nfs", "", s) }

func (d *opener) directory(l *lease, t *target, w *walk) (*fetch.Response, error) {
	base := t.directory()
	resp, read := remotefile.Listing(t.req, remotefile.Member(base, "", false), t.name(),
		w.at.attr.MTime.Time())
	if !read {
		return resp, nil
	}
	x := &listing{lease: l, walk: w, base: base, plus: true}
	if err := x.next(); err != nil { // fails if the directory may not be read
		return nil, err
	}
	driver.SetParts(resp, x.parts, func() error { x.lease.Discard(); return nil })
	return resp, nil
}

func listExports(t *target, names []string) *fetch.Response {
	base := t.directory()
	entries := make([]fetch.Entry, len(names))
	for i, name := range names {
		entries[i] = remotefile.Directory(remotefile.Member(base, name, true), name, time.Time{}, nil)
	}
	return remotefile.Directories(t.req, base, t.name(), entries)
}

type listing struct {
	lease  *lease
	walk   *walk // to the directory
	base   string
	plus   bool // use READDIRPLUS: the server has not rejected it
	cookie uint64
	page   nfs3.Listing // the last page received
	cycle  remotefile.Cycle[uint64]
}

func (l *listing) parts(yield func(driver.Part, error) bool) {
	for {
		for _, e := range l.page.Entries {
			m, err := l.member(e)
			if err != nil {
				l.lease.Put()
				yield(driver.Part{}, remotefile.CutListing(err))
				return
			}
			if !m.URL.IsZero() && !yield(driver.URIListPart("", m), nil) {
				l.lease.Discard()
				return
			}
		}
		if l.page.EOF {
			l.lease.Put()
			return
		}
		if err := l.next(); err != nil {
			l.lease.Put()
			yield(driver.Part{}, remotefile.CutListing(err))
			return
		}
	}
}

// next reads the next page of members. It uses READDIR if the server does not support READDIRPLUS.
func (l *listing) next() error {
	proc := nfs3.Readdirplus
	if !l.plus {
		proc = nfs3.Readdir
	}
	var page nfs3.Listing
	args := nfs3.ReaddirArgs(l.walk.at.handle, l.cookie, l.page.Verifier, listCount, l.plus)
	err := l.lease.call(proc, "", args, func(d *xdr.Decoder) { page = nfs3.ParseListing(d, l.plus) })
	switch {
	case err != nil && l.plus && (statusOf(err) == nfs3.ErrNotSupp || isUnknown(err)):
		l.plus = false
		return l.next()
	case err != nil:
		return err
	case len(page.Entries) == 0 && !page.EOF:
		return l.violation("an empty page before the end of a directory")
	case len(page.Entries) > 0:
		l.cookie = page.Entries[len(page.Entries)-1].Cookie
	}
	if !page.EOF && l.cycle.Closes(l.cookie) {
		return l.violation("the directory listing repeats a cookie")
	}
	for _, e := range page.Entries {
		if !remotefile.IsName(e.Name) {
			return l.violation("invalid file name %q", e.Name)
		}
	}
	l.page = page
	return nil
}

func (l *listing) violation(format string, args ...any) error {
	l.lease.err = fetch.ErrProtocol.Errorf(format, args...)
	return l.lease.err
}

func isUnknown(err error) bool {
	e, ok := err.(*fetch.Error)
	return ok && e.Reply.Text == "PROC_UNAVAIL"
}

// member returns the entry for a member, or the zero Entry for "." and "..".
func (l *listing) member(e nfs3.Entry) (fetch.Entry, error) {
	if e.Name == "." || e.Name == ".." {
		return fetch.Entry{}, nil
	}
	at := node{handle: e.Handle}
	if e.Attr == nil || e.Attr.IsLink() && e.Handle == "" {
		found, err := l.lease.lookup(l.walk.at.handle, e.Name)
		if refused := statusOf(err) != nfs3.OK; err != nil && !refused {
			return fetch.Entry{}, err
		} else if !refused {
			at = found
		}
	} else {
		at.attr = *e.Attr
	}
	sys := Sys{Mode: at.attr.FileMode().String(), UID: &at.attr.UID, GID: &at.attr.GID}
	if at.attr.Type == 0 {
		sys = Sys{} // LOOKUP was refused
	}
	if at.attr.IsLink() {
		attr := at.attr
		sys.UID, sys.GID = &attr.UID, &attr.GID
		var err error
		if at.attr, sys.Target, err = l.follow(at, e.Name); err != nil {
			return fetch.Entry{}, err
		}
	}
	return l.entry(e.Name, at.attr, sys), nil
}

// The attributes are zero if the link is dangling or leads out of the export.
func (l *listing) follow(link node, name string) (nfs3.Attr, string, error) {
	text, err := l.lease.readlink(link.handle)
	if err == nil {
		var w *walk
		if w, err = l.walk.member(name); err == nil {
			return w.at.attr, text, nil
		}
	}
	if l.lease.err != nil {
		return nfs3.Attr{}, "", err
	}
	return nfs3.Attr{}, text, nil
}

func (l *listing) entry(name string, a nfs3.Attr, sys Sys) fetch.Entry {
	u, modTime, size := remotefile.Member(l.base, name, a.IsDir()), time.Time{}, int64(-1)
	if a.Type != 0 {
		modTime = a.MTime.Time()
	}
	if a.IsDir() {
		return remotefile.Directory(u, name, modTime, sys)
	}
	if a.IsRegular() {
		size = sizeOf(a)
	}
	return remotefile.File(u, name, size, modTime, sys)
}
