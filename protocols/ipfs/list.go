package ipfs

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// Sys is the additional information about an entry of a listing.
type Sys struct {
	CID string `fact:"cid"`
	// Target is the target of a symbolic link. The other fields of the entry then describe the file
	// that it leads to, if it is within the tree.
	Target string `fact:"target,optional"`
}

// EntryFacts implements [fetch.EntryRecord].
func (s Sys) EntryFacts() fetch.Facts { return driver.FactsOf("ipfs", "", s) }

func (t *tree) directory(ctx context.Context, at *target, n *node, names []string) *fetch.Response {
	base := at.Path.Directory()
	resp, read := remotefile.Listing(at.req, remotefile.Member(base, "", false), at.fileName(), n.mtime)
	resp.ETag = `"` + n.id.String() + `"`
	if !read {
		return resp
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &listing{tree: t, ctx: ctx, base: base, names: names}
	driver.SetParts(resp, l.parts(n), func() error { cancel(); return nil })
	return resp
}

// A listing is the listing of a directory. The entries are described ahead of the reader.
type listing struct {
	*tree
	ctx   context.Context
	base  string
	names []string // the path of the directory
}

type describing struct {
	done  chan struct{}
	entry fetch.Entry
	err   error
}

func (l *listing) parts(n *node) iter.Seq2[driver.Part, error] {
	return func(yield func(driver.Part, error) bool) {
		var queue []*describing
		next := func() bool {
			p := queue[0]
			queue = queue[1:]
			select {
			case <-p.done:
			case <-l.ctx.Done():
				p = &describing{err: context.Cause(l.ctx)}
			}
			if p.err != nil {
				yield(driver.Part{}, p.err)
				return false
			}
			return p.entry.URL.IsZero() || yield(driver.URIListPart("", p.entry), nil)
		}
		failed := l.members(n, 0, 0, func(m link) bool {
			queue = append(queue, l.begin(m))
			return len(queue) < maxWindow || next()
		})
		if failed == errStopped {
			return
		}
		for len(queue) > 0 {
			if !next() {
				return
			}
		}
		if failed != nil {
			yield(driver.Part{}, failed)
		}
	}
}

func (l *listing) begin(m link) *describing {
	p := &describing{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.entry, p.err = l.entry(m)
	}()
	return p
}

// entry describes a member. It is zero for a name that a URL cannot have.
func (l *listing) entry(m link) (fetch.Entry, error) {
	sys := Sys{CID: m.id.String()}
	switch {
	case m.name == "." || m.name == "..":
		return fetch.Entry{}, nil
	case !remotefile.IsName(m.name):
		return fetch.Entry{}, damaged("invalid file name %q in a directory", m.name)
	case m.id.codec == codecRaw:
		stated, err := size(m.size)
		if err != nil {
			stated = -1
		}
		return l.file(m.name, stated, time.Time{}, sys), nil
	}
	n, err := l.node(l.ctx, m.id, maxBlock)
	if err == nil && n.kind == kindSymlink {
		sys.Target = string(n.data)
		n, _, err = l.resolve(l.ctx, append(l.names[:len(l.names):len(l.names)], m.name))
	}
	switch {
	case l.ctx.Err() != nil:
		return fetch.Entry{}, context.Cause(l.ctx)
	case isUnavailable(err), sys.Target != "" && fetch.CodeOf(err) == fetch.ErrPolicy:
		return l.file(m.name, -1, time.Time{}, sys), nil
	case err != nil:
		return fetch.Entry{}, err
	case n.isDirectory():
		return remotefile.Directory(remotefile.Member(l.base, m.name, true), m.name, n.mtime, sys), nil
	}
	return l.file(m.name, n.size, n.mtime, sys), nil
}

func (l *listing) file(name string, size int64, modTime time.Time, sys Sys) fetch.Entry {
	return remotefile.File(remotefile.Member(l.base, name, false), name, size, modTime, sys)
}

// isUnavailable reports whether a member can be listed although its block cannot be retrieved or decoded.
func isUnavailable(err error) bool {
	switch fetch.CodeOf(err) {
	case fetch.ErrNotFound, fetch.ErrNotRetrievable, fetch.ErrRefused, fetch.ErrBusy, fetch.ErrServer:
		return true
	}
	return false
}

// errStopped ends a listing whose reader stopped.
var errStopped = errors.New("stopped")

// members yields the links of a directory with the names of its members. Path has the first used bits of
// the hashes of the names in a shard.
func (l *listing) members(n *node, path uint64, used int, yield func(link) bool) error {
	if n.kind == kindDirectory {
		for _, m := range n.links {
			if !yield(m) {
				return errStopped
			}
		}
		return nil
	}
	below, _, err := n.child(0, used)
	if err != nil {
		return err
	}
	ahead := shards{listing: l, links: n.links, prefix: n.prefix()}
	for i, m := range n.links {
		at := path<<n.bits | n.position(m)
		if name := m.name[n.prefix():]; name != "" {
			if murmur3(name)>>(64-below) != at {
				return damaged("block %s: the name %q is misplaced in the HAMT directory", n.id, name)
			}
			if !yield(link{m.id, name, m.size}) {
				return errStopped
			}
			continue
		}
		child, err := ahead.get(i)
		if err != nil {
			return err
		}
		if err := l.members(child, at, below, yield); err != nil {
			return err
		}
	}
	return nil
}

// shards retrieves the shards that a shard links to ahead of their use.
type shards struct {
	*listing
	links  []link
	prefix int
	queue  []*pending
	begun  int // number of links whose shards are in the queue or have been
}

// get returns the shard of the link i. It must be called for all of them, in order.
func (s *shards) get(i int) (*node, error) {
	for s.begun = max(s.begun, i); s.begun < len(s.links) && len(s.queue) < maxWindow; s.begun++ {
		if m := s.links[s.begun]; len(m.name) == s.prefix {
			s.queue = append(s.queue, s.start(s.ctx, m.id, maxShard))
		}
	}
	first := s.queue[0]
	s.queue = s.queue[1:]
	n, err := first.wait(s.ctx)
	if err != nil {
		return nil, err
	}
	if len(n.links) == 0 { // shards without names would not end
		return nil, damaged("block %s: an empty part of a HAMT directory", n.id)
	}
	return n, checkShard(n)
}
