package mirror

import (
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// A place is the part of a server that a start URL leads to.
type place struct {
	url      uri.URI // the start URL, or the target of its redirect
	dir      string  // of its listing, in the layout serverPaths
	tree     string  // the TreeDir that pages are limited to; "" is the whole server
	hasLinks bool
	failed   bool
	unread   string // a page that could not be read and may link to any file; or ""
}

func (m *mirror) startPlaces() (list []*place) {
	targets := m.state.SeedTargets()
	for i, seed := range m.state.Seeds() {
		for _, text := range []string{seed, targets[i]} {
			u, err := uri.Parse(text)
			if err != nil || text == "" {
				continue
			}
			t := m.d.Client.Traits(u)
			p := &place{url: u, dir: serverPaths.Dir(u, t), hasLinks: t.HasLinks(), failed: m.failedSeeds[i],
				unread: m.unreadPages[i]}
			if m.Crawl.Scope.NoParent {
				p.tree = u.TreeDir()
			}
			list = append(list, p)
		}
	}
	return list
}

// covers reports whether a file may belong to the start URL. A file of a listing is below the
// directory or is the start URL itself. A page of the same server may belong to any start URL there.
func (p *place) covers(u uri.URI, name string) bool {
	if p.hasLinks {
		return strings.HasPrefix(u.TreePath(), p.tree)
	}
	return p.dir == "." || name == p.dir || isBelow(name, p.dir)
}

func isBelow(name, dir string) bool { return strings.HasPrefix(name, dir+"/") }

// placesOf returns the places that cover u. If there are none and other hosts are in scope, it returns
// all, because any start URL may lead there.
func (d *deletion) placesOf(u uri.URI) (list []*place) {
	name := serverPaths.Path(u, d.d.Client.Traits(u))
	for _, p := range d.starts {
		if p.url.SameSite(u) && p.covers(u, name) {
			list = append(list, p)
		}
	}
	if len(list) == 0 && d.Crawl.Scope.SpanHosts {
		return d.starts
	}
	return list
}
