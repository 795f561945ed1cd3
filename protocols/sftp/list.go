package sftp

import (
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/codec/filexfer"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

const maxReaddirs = 4

// Sys is the additional information about an entry of a listing.
type Sys struct {
	Mode string  `fact:"mode,optional"` // as shown by ls: "-rw-r--r--"
	UID  *uint32 `fact:"uid"`
	GID  *uint32 `fact:"gid"`
	// Target is the target of a symbolic link. The kind, size and time of the entry are then those
	// of the target.
	Target string `fact:"target,optional"`
}

// EntryFacts implements [fetch.EntryRecord].
func (s Sys) EntryFacts() fetch.Facts { return driver.FactsOf("sftp", "", s) }

func (d *opener) directory(f *flight, t *target, info filexfer.Attrs) (*fetch.Response, error) {
	base := t.Directory()
	resp, read := remotefile.Listing(t.req, member(base, "", false), t.name(), info.ModTime())
	if !read {
		return resp, nil
	}
	handle, err := f.openHandle(filexfer.TypeOpendir, t.path)
	if err != nil {
		return nil, err
	}
	l := &listing{flight: f, handle: handle, base: base, path: t.path}
	driver.SetParts(resp, l.parts, func() error { f.end(); return nil })
	return resp, nil
}

type listing struct {
	flight     *flight
	handle     string
	base, path string
	queue      []*request
}

func (l *listing) parts(yield func(driver.Part, error) bool) {
	defer l.flight.end()
	for {
		files, err := l.next()
		if err != nil {
			yield(driver.Part{}, remotefile.ListingError(err))
			return
		}
		if files == nil {
			return
		}
		members, err := l.members(files)
		if err != nil {
			yield(driver.Part{}, remotefile.ListingError(err))
			return
		}
		for _, m := range members {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// next waits for the next READDIR response. It returns nil at the end of the directory.
func (l *listing) next() ([]filexfer.File, error) {
	for len(l.queue) < maxReaddirs {
		l.queue = append(l.queue, l.flight.send(filexfer.TypeReaddir, l.handle))
	}
	r := l.queue[0]
	l.queue = l.queue[1:]
	resp, err := l.flight.wait(r)
	if err != nil {
		return nil, err
	}
	defer resp.release()
	if resp.Type != filexfer.TypeName {
		if resp.Type == filexfer.TypeStatus && filexfer.Code(resp.Fields().Uint32()) == filexfer.CodeEOF {
			return nil, l.drain()
		}
		return nil, l.flight.responseError(r, resp)
	}
	fields := resp.Fields()
	files := fields.Files()
	if fields.Err() != nil || len(files) == 0 {
		return nil, fetch.ErrProtocol.Errorf("malformed or empty NAME response")
	}
	return files, nil
}

// drain waits for the responses to the requests in flight, so that the connection can be reused.
func (l *listing) drain() error {
	for _, r := range l.queue {
		resp, err := l.flight.wait(r)
		if err != nil {
			return err
		}
		resp.release()
	}
	l.queue = nil
	return nil
}

type link struct{ target, info *request }

// members returns the parts for files. It sends the requests for all symbolic links together.
func (l *listing) members(files []filexfer.File) ([]driver.Part, error) {
	links := make(map[int]link)
	for i := range files {
		file := &files[i]
		if !file.Attrs.Has(filexfer.AttrPermissions) {
			file.Attrs.SetLongMode(file.Long)
		}
		if file.Attrs.Has(filexfer.AttrPermissions) &&
			file.Attrs.Mode&filexfer.ModeType == filexfer.ModeLink && remotefile.IsName(file.Name) {
			path := strings.TrimSuffix(l.path, "/") + "/" + file.Name
			links[i] = link{l.flight.send(filexfer.TypeReadlink, path),
				l.flight.send(filexfer.TypeStat, path)}
		}
	}
	parts := make([]driver.Part, 0, len(files))
	for i, file := range files {
		if file.Name == "." || file.Name == ".." {
			continue
		}
		if !remotefile.IsName(file.Name) {
			return nil, fetch.ErrProtocol.Errorf("invalid file name %q in the listing", file.Name)
		}
		sys := sysOf(file.Attrs)
		if k, ok := links[i]; ok {
			var err error
			if file.Attrs, sys.Target, err = l.follow(k); err != nil {
				return nil, err
			}
		}
		e := l.entry(file, sys)
		if e.URL.IsZero() {
			continue // too long for a URL
		}
		parts = append(parts, driver.URIListPart("", e))
	}
	return parts, nil
}

// The attributes are zero if the link is dangling.
func (l *listing) follow(k link) (filexfer.Attrs, string, error) {
	target := ""
	resp, err := l.flight.wait(k.target)
	if err != nil {
		return filexfer.Attrs{}, "", err
	}
	if resp.Type == filexfer.TypeName {
		if files := resp.Fields().Files(); len(files) == 1 {
			target = files[0].Name
		}
	}
	resp.release()
	if resp, err = l.flight.wait(k.info); err != nil {
		return filexfer.Attrs{}, "", err
	}
	defer resp.release()
	if resp.Type != filexfer.TypeAttrs {
		return filexfer.Attrs{}, target, nil
	}
	fields := resp.Fields()
	info := fields.Attrs()
	return info, target, fields.Err()
}

func sysOf(a filexfer.Attrs) *Sys {
	sys := &Sys{}
	if a.Has(filexfer.AttrPermissions) {
		sys.Mode = a.FileMode().String()
	}
	if a.Has(filexfer.AttrUIDGID) {
		sys.UID, sys.GID = &a.UID, &a.GID
	}
	return sys
}

func (l *listing) entry(file filexfer.File, sys *Sys) fetch.Entry {
	mode, size := file.Attrs.FileMode(), int64(-1)
	u := member(l.base, file.Name, mode.IsDir())
	if mode.IsDir() {
		return remotefile.Directory(u, file.Name, file.Attrs.ModTime(), *sys)
	}
	if mode.IsRegular() {
		size = sizeOf(file.Attrs)
	}
	return remotefile.File(u, file.Name, size, file.Attrs.ModTime(), *sys)
}
