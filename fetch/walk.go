package fetch

import (
	"context"
	"iter"
	"slices"

	"github.com/urlget/urlget/fetch/uri"
)

// WalkOptions configure a walk. The zero value means the defaults.
type WalkOptions struct {
	// MaxDepth is the maximum depth of members. 1 means only those of the first listing; 0 means
	// 100. Deeper members are omitted.
	MaxDepth int
	// MaxListings is the maximum number of listings to read. 0 means 100,000. If there are more,
	// the walk ends with ErrTooLarge.
	MaxListings int
	// Enter reports whether to read a member that is a listing. If Enter is nil, the walk reads
	// listings of the same origin as the first, because menus may lead anywhere.
	Enter func(*Member) bool
	// List requests a listing. If List is nil, the walk uses Client.Do. The method List of a links.Lister
	// also reads index pages of the web.
	List func(context.Context, *Request) (*Response, error)
}

// A Member is an entry of one of the listings of a walk.
type Member struct {
	Entry
	// Path holds the names of the listings on the way and of the member itself, as the servers sent
	// them. They are not safe as file names. Path is empty for the first listing.
	Path []string
	// From is the listing that contains the member. It is zero for the first listing.
	From uri.URI

	skip bool
}

// SkipDir works like fs.SkipDir: for a listing, the walk skips it; for any other member, the walk
// skips the remaining members of the same listing.
func (m *Member) SkipDir() { m.skip = true }

// Walk yields the members of the listing at rawURL and of the listings below it. All members of a
// listing come before those of listings in it, so no two listings are open at once. Each listing is
// read only once, so cycles of links end. MaxDepth limits trees that links make endless. If opts is
// nil, the defaults apply.
//
// The first listing is yielded only if it fails. If a listing fails, Walk yields it with the error
// and continues with the others. If ctx is done, the walk ends with one error. The policy treats
// the URLs of members as supplied by a remote party.
func (c *Client) Walk(ctx context.Context, rawURL string, opts *WalkOptions) iter.Seq2[*Member, error] {
	return func(yield func(*Member, error) bool) {
		u, err := parse(OpList, rawURL)
		if err != nil {
			yield(&Member{}, err)
			return
		}
		w := &walk{client: c, ctx: ctx, yield: yield, seen: make(map[uri.URI]bool)}
		if opts != nil {
			w.opts = *opts
		}
		if w.opts.List == nil {
			w.opts.List = c.Do
		}
		if w.opts.MaxDepth <= 0 {
			w.opts.MaxDepth = 100
		}
		if w.opts.MaxListings <= 0 {
			w.opts.MaxListings = 100_000
		}
		w.read(&Member{Entry: Entry{URL: u, Kind: EntryListing, Size: -1}})
	}
}

type walk struct {
	client *Client
	ctx    context.Context
	yield  func(*Member, error) bool
	opts   WalkOptions
	origin uri.Origin       // of the first listing
	seen   map[uri.URI]bool // listings that have been or will be read
	found  int              // their number, not counting the first
}

// read yields the members of a listing and everything below it. It returns false if the walk has
// ended.
func (w *walk) read(dir *Member) bool {
	below, ok := w.members(dir)
	if !ok {
		return false
	}
	for _, m := range below {
		if !w.read(m) {
			return false
		}
	}
	return true
}

// members yields the members of a listing. It returns the listings among them that are to be read.
func (w *walk) members(dir *Member) (below []*Member, ok bool) {
	resp, err := w.opts.List(w.ctx, &Request{URL: dir.URL, Op: OpList, From: dir.From})
	if err != nil {
		return nil, w.yieldError(dir, err)
	}
	defer resp.Body.Close()
	if len(dir.Path) == 0 {
		w.origin = w.originOf(resp.URL)
		w.mark(dir.URL)
		w.mark(resp.URL)
	}
	if resp.Entries == nil {
		return nil, w.yieldError(dir, notAListing(resp))
	}
	for e, err := range resp.Entries {
		if err != nil {
			return below, w.yieldError(dir, err)
		}
		m := &Member{Entry: e, Path: append(slices.Clip(dir.Path), e.Name), From: resp.URL}
		if !w.yield(m, nil) {
			return nil, false
		}
		switch isDir := m.Kind == EntryListing; {
		case m.skip && !isDir:
			return below, true
		case isDir && !m.skip && w.enters(m):
			if w.found++; w.found >= w.opts.MaxListings {
				return nil, w.tooMany(m)
			}
			below = append(below, m)
		}
	}
	return below, true
}

func (w *walk) yieldError(dir *Member, err error) bool {
	return w.yield(dir, err) && w.ctx.Err() == nil
}

func (w *walk) tooMany(m *Member) bool {
	err := ErrTooLarge.Errorf("more than %d listings", w.opts.MaxListings)
	w.yield(m, asError(OpList.String(), m.URL, err))
	return false
}

func (w *walk) enters(m *Member) bool {
	if m.Rel == "parent" || m.URL.IsZero() || len(m.Path) >= w.opts.MaxDepth {
		return false
	}
	if w.opts.Enter != nil {
		return w.opts.Enter(m) && w.mark(m.URL)
	}
	return w.originOf(m.URL) == w.origin && w.mark(m.URL)
}

// originOf returns the origin of u, the same whether or not the default port is written.
func (w *walk) originOf(u uri.URI) uri.Origin { return w.withoutPort(u).Origin() }

// withoutPort returns u without its port if that is the default of its driver.
func (w *walk) withoutPort(u uri.URI) uri.URI {
	s, _ := w.client.registry.Lookup(u.Scheme())
	return u.WithoutPort(s.Port)
}

func (w *walk) mark(u uri.URI) bool {
	u = w.withoutPort(u).WithoutUserinfo().WithoutFragment().Normalize()
	if w.seen[u] {
		return false
	}
	w.seen[u] = true
	return true
}
