package crawl

import (
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// A linkID is what decides about a link of a page that is not a listing: two links with one linkID
// have the same verdict.
type linkID struct {
	page pageID
	link linkText
}

type pageID struct {
	seed  string
	depth int
}

// A linkText is what decides about one link. The URL is as written in the resolved link.
type linkText struct {
	url, rel string
	kind     fetch.EntryKind
}

func (p *Page) linkID(e fetch.Entry) linkID {
	return linkID{pageID{p.Seed.String(), p.Depth}, linkText{e.URL.String(), e.Rel, e.Kind}}
}

// These limit the links that a seenLinks holds, the bytes of their URLs and relations, and their
// pageIDs, each of which has a map of its own.
const (
	maxSeen      = 1 << 16
	maxSeenText  = 8 << 20
	maxSeenPages = 1 << 13
)

// seenLinks are links that were followed and lead to URLs known in this crawl, so that another link
// of the same kind changes nothing. The most frequent links of a site are thus recognized without
// normalizing their URLs and without the state file.
type seenLinks struct {
	mu    sync.Mutex                       // guards the fields below
	links map[pageID]map[linkText]struct{} // one map for all would rarely be in the processor's cache
	n     int                              // number of links
	text  int                              // bytes of their URLs and relations
}

// add adds a link. A full set is emptied, because the links of the next pages are often new. The
// texts are copied: they may be parts of attributes of many megabytes.
func (s *seenLinks) add(id linkID) {
	size := len(id.link.url) + len(id.link.rel)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.links[id.page][id.link]; ok || size > maxSeenText {
		return
	}
	id.link.url, id.link.rel = strings.Clone(id.link.url), strings.Clone(id.link.rel)
	page := s.links[id.page]
	if s.n >= maxSeen || s.text+size > maxSeenText || page == nil && len(s.links) >= maxSeenPages {
		s.links, s.n, s.text = nil, 0, 0
		page = nil
	}
	if s.links == nil {
		s.links = map[pageID]map[linkText]struct{}{}
	}
	if page == nil {
		page = map[linkText]struct{}{}
		s.links[id.page] = page
	}
	page[id.link] = struct{}{}
	s.n++
	s.text += size
}

func (s *seenLinks) has(id linkID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.links[id.page][id.link]
	return ok
}

func (s *seenLinks) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links, s.n, s.text = nil, 0, 0
}
