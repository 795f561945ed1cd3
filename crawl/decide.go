package crawl

import (
	"fmt"
	"iter"
	"slices"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// Rules decide which links, redirects and sitemaps become pages of a crawl. A decision depends only
// on the rules, the page and the URL that it leads to, so that all workers of a crawl decide alike.
// Most fields are those of Options, but without their defaults.
type Rules struct {
	Client       *fetch.Client // for the traits of schemes
	Scope        Scope
	NoRobots     bool
	Sitemaps     bool
	MaxAlike     int
	MaxRedirects int
	// NoLocal excludes resources of this computer, such as files.
	NoLocal bool
}

// link decides about a link of a page. The root menu of a server with menus is one page, whether its
// selector is empty or a slash.
func (r *Rules) link(p *Page, e fetch.Entry) (Link, Reason) {
	l := Link{URL: r.plain(e.URL), From: p.URL, Seed: p.Seed, seed: p.seed, Depth: p.Depth + 1, Rel: e.Rel,
		Kind: e.Kind, Size: e.Size, ModTime: e.ModTime, Text: e.Name, Listed: p.isListing(),
		Traits: r.Client.Traits(e.URL)}
	if l.Traits.Menus {
		l.URL = r.plain(rootMenu(l.URL, l.Seed))
	}
	if l.Rel == "nofollow" {
		if !r.NoRobots {
			return l, NoFollow
		}
		l.Rel = "a"
	}
	if r.Scope.Requisites && links.Requisite(l.Rel) {
		l.Depth = p.Depth
	}
	return r.follow(l)
}

func (r *Rules) follow(l Link) (Link, Reason) {
	var why Reason
	if l.Save, why = r.Scope.Follow(l); why == Followed && !r.retrieves(l.URL) {
		why = OtherScheme
	}
	return l, why
}

func (r *Rules) retrieves(u uri.URI) bool {
	s, _ := r.Client.Scheme(u.Scheme())
	if s.Local {
		return !r.NoLocal && s.Can(fetch.OpGet)
	}
	return s.Retrieves()
}

func (r *Rules) target(p *Page, to uri.URI) (Link, Reason) {
	l := p.Link
	l.URL, l.Via = to.WithoutUserinfo(), append(slices.Clone(p.Via), p.URL.WithoutUserinfo())
	l.Text, l.Listed, l.Traits = "", false, r.Client.Traits(to)
	l, why := r.follow(l)
	l.Save = l.Save && (p.Save || p.isSeed())
	return l, why
}

// sitemaps yields links to the sitemaps of the server of a seed. List has those of its robots.txt.
// Without one, a sitemap is at its usual place.
func (r *Rules) sitemaps(p *Page, list []string) iter.Seq2[Link, Reason] {
	return func(yield func(Link, Reason) bool) {
		guessed := len(list) == 0
		if guessed && r.Client.Traits(p.URL).HTML {
			list = []string{"/sitemap.xml"}
		}
		for _, text := range list {
			l := Link{From: p.URL, Seed: p.Seed, seed: p.seed, Rel: "sitemap", Size: -1, Guessed: guessed}
			if ref, err := uri.ParseRef(text); err == nil {
				l.URL = r.plain(p.URL.Resolve(ref))
			} else {
				l.Kind, l.Text = fetch.EntryError, fmt.Sprintf("%.200s: %v", text, err)
			}
			if !yield(r.follow(l)) {
				return
			}
		}
	}
}

// form returns the form whose budget a new page takes from, or "".
func (r *Rules) form(l *Link) string {
	if l.Listed || r.MaxAlike < 0 {
		return ""
	}
	return formOf(l.URL)
}

func (r *Rules) withoutDefaultPort(u uri.URI) uri.URI {
	s, _ := r.Client.Scheme(u.Scheme())
	return u.WithoutPort(s.Port)
}

// plain returns u without a login, a fragment and a default port.
func (r *Rules) plain(u uri.URI) uri.URI {
	return r.withoutDefaultPort(u).WithoutUserinfo().WithoutFragment()
}
