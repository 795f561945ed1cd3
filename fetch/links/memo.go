package links

import (
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A memo keeps strings and resolved references: those of the navigation of a site are in most of its pages.
type memo struct {
	texts  recent[string]
	onSite recent[uri.URI] // by references that depend at most on the scheme and the authority of the base
	inDir  recent[uri.URI] // by references that also depend on its directory
	site   string          // scheme and authority of the base
	dir    string          // and the directory
}

// Longer strings, in bytes, are not kept.
const maxKept = 512

// text returns b as a string.
func (m *memo) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	s, ok := m.texts.young[string(b)]
	if ok {
		return s
	}
	if s, ok = m.texts.old[string(b)]; !ok {
		s = string(b)
	}
	m.texts.add(s, s)
	return s
}

// setBase prepares the memo for references in a document at base.
func (m *memo) setBase(base uri.URI) {
	text, path := base.String(), base.Path()
	if fragment, ok := base.Fragment(); ok {
		text = text[:len(text)-len("#"+fragment)]
	}
	if query, ok := base.Query(); ok {
		text = text[:len(text)-len("?"+query)]
	}
	site := text[:len(text)-len(path)]
	dir := text[:len(site)+strings.LastIndexByte(path, '/')+1]
	if site != m.site {
		m.site = strings.Clone(site)
		m.onSite.clear()
	}
	if dir != m.dir {
		m.dir = strings.Clone(dir)
		m.inDir.clear()
	}
}

// entry is entry for the base of setBase. The memory of ref is kept.
func (m *memo) entry(base uri.URI, ref, rel string) fetch.Entry {
	u, ok := m.onSite.get(ref)
	if !ok {
		u, ok = m.inDir.get(ref)
	}
	if ok {
		return fetch.Entry{URL: u, Rel: rel, Size: -1}
	}
	u, err := parseRef(ref)
	e := resolved(base, u, err, ref, rel)
	switch {
	case e.Kind == fetch.EntryError:
	case u.IsAbs(), u.HasAuthority(), strings.HasPrefix(u.Path(), "/"):
		m.onSite.add(ref, e.URL)
	case u.Path() != "":
		m.inDir.add(ref, e.URL)
	}
	return e
}

// A recent holds the values that were used last.
type recent[V any] struct {
	young, old map[string]V
}

// maxYoung is the number of values after which those that were not used since become old.
const maxYoung = 512

func (r *recent[V]) get(key string) (v V, ok bool) {
	if v, ok = r.young[key]; ok {
		return v, true
	}
	if v, ok = r.old[key]; ok {
		r.add(key, v)
	}
	return v, ok
}

func (r *recent[V]) add(key string, v V) {
	if len(key) > maxKept {
		return
	}
	if r.young == nil {
		r.young, r.old = make(map[string]V), make(map[string]V)
	}
	if len(r.young) == maxYoung {
		r.young, r.old = r.old, r.young
		clear(r.young)
	}
	r.young[key] = v
}

func (r *recent[V]) clear() {
	clear(r.young)
	clear(r.old)
}
