package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"strings"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// Prefixes of names in the state of a spider: an anchorPrefix and an anchorID have no owner; a
// fragmentPrefix, the key of a URL, a NUL and a fragment have as owner the first page with such a link, a
// NUL and the URL.
const (
	anchorPrefix   = "i:"
	fragmentPrefix = "h:"
)

// maxFragment limits the fragments that are checked, and the URLs that have them, in bytes.
const maxFragment = 2000

// anchorID identifies an anchor of the page with a key. Both may be long.
func anchorID(key, name string) string {
	sum := sha256.Sum256([]byte(key + "\x00" + name))
	return anchorPrefix + string(sum[:16])
}

// readAnchors reads a page, and records its anchors and the fragments of its links. Fragments of the page
// itself are checked at once.
func (m *mirror) readAnchors(ctx context.Context, p *crawl.Page, v *visitResult) (err error) {
	own := map[string]bool{}
	p.Anchors = &links.Anchors{}
	p.Fragment = func(to uri.URI, fragment string) {
		switch {
		case len(fragment) > maxFragment || len(links.AnchorsOf(fragment)) == 0:
		case to.Key() == p.Key():
			own[fragment] = true
		case err == nil:
			err = m.addFragment(to, fragment, p.URL)
		}
	}
	if readErr := m.read(ctx, p, v); readErr != nil || err != nil {
		return cmp.Or(readErr, err)
	}
	if !p.Anchors.IsPage || p.Anchors.Incomplete {
		return nil
	}
	for fragment := range own {
		if !p.Anchors.Has(fragment) {
			if err := m.addFragment(p.URL, fragment, p.URL); err != nil {
				return err
			}
		}
	}
	for name := range p.Anchors.Names() {
		if _, err := m.state.Claim(anchorID(p.Key(), name), ""); err != nil {
			return err
		}
	}
	p.Memo = memo{Anchors: true}.bytes()
	return nil
}

func (m *mirror) addFragment(to uri.URI, fragment string, from uri.URI) error {
	key := to.Key()
	if len(key) > maxFragment {
		return nil
	}
	owner := from.WithoutUserinfo().String() + "\x00" + to.WithoutUserinfo().WithoutFragment().String()
	_, err := m.state.Claim(fragmentPrefix+key+"\x00"+fragment, owner)
	return err
}

// redirectFragment returns the fragment that a redirect names, after a "#", or "". A spider records it.
func (m *mirror) redirectFragment(p *crawl.Page) string {
	fragment, ok := p.Target.Fragment()
	switch {
	case !ok:
		return ""
	case len(fragment) > maxFragment:
		return "#"
	case m.Spider:
		m.addFragment(p.Target, fragment, p.URL) // a failure of the state ends the crawl later
	}
	return "#" + fragment
}

const maxFragmentBatch = 10_000

// checkFragments reports the fragments that no anchor has.
func (m *mirror) checkFragments() error {
	for {
		names := m.names(fragmentPrefix, maxFragmentBatch)
		if len(names) == 0 {
			return nil
		}
		for _, name := range names {
			owner, _, err := m.state.Owner(fragmentPrefix + name)
			if err != nil {
				return err
			}
			m.state.Disclaim(fragmentPrefix + name)
			key, fragment, _ := strings.Cut(name, "\x00")
			hasAnchor, err := m.hasAnchor(key, fragment)
			if err != nil {
				return err
			}
			from, to, _ := strings.Cut(owner, "\x00")
			page, err := uri.Parse(from)
			link, invalid := uri.Parse(to + "#" + fragment)
			if !hasAnchor && err == nil && invalid == nil && m.NoAnchor != nil {
				m.NoAnchor(link, page)
			}
		}
	}
}

// hasAnchor returns true if the anchors of the page are not known.
func (m *mirror) hasAnchor(key, fragment string) (bool, error) {
	u, err := uri.Parse(key)
	page, v, named, ok := m.followRedirects(u)
	if err != nil || !ok || named != "" || !v.Anchors {
		return true, nil
	}
	for _, anchor := range links.AnchorsOf(fragment) {
		if _, found, err := m.state.Owner(anchorID(page.Key(), anchor)); found || err != nil {
			return true, err
		}
	}
	return false, nil
}
