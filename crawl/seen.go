package crawl

import (
	"strings"

	"github.com/urlget/urlget/fetch"
)

// A linkID is what decides about a link of a page that is not a listing: two links with one linkID
// have the same verdict.
type linkID struct {
	url   string // as written in the resolved link
	rel   string
	kind  fetch.EntryKind
	seed  int
	depth int // of the page
}

func (p *Page) linkID(e fetch.Entry) linkID {
	return linkID{url: e.URL.String(), rel: e.Rel, kind: e.Kind, seed: p.item.seed, depth: p.Depth}
}

// maxSeen limits the links and maxSeenText the bytes of their URLs and relations that a seenLinks holds.
const (
	maxSeen     = 1 << 16
	maxSeenText = 8 << 20
)

// seenLinks are links that were followed and lead to URLs known in this crawl, so that another link
// of the same kind changes nothing. The most frequent links of a site are thus recognized without
// normalizing their URLs and without the state file.
type seenLinks struct {
	links map[linkID]struct{}
	text  int // bytes of the URLs and relations
}

// add adds a link. A full set is emptied, because the links of the next pages are often new. The
// texts are copied: they may be parts of attributes of many megabytes.
func (s *seenLinks) add(id linkID) {
	size := len(id.url) + len(id.rel)
	if size > maxSeenText {
		return
	}
	id.url, id.rel = strings.Clone(id.url), strings.Clone(id.rel)
	if len(s.links) >= maxSeen || s.text+size > maxSeenText {
		s.clear()
	}
	if s.links == nil {
		s.links = map[linkID]struct{}{}
	}
	s.links[id] = struct{}{}
	s.text += size
}

func (s *seenLinks) clear() { s.links, s.text = nil, 0 }

// seenLink reports whether a link is among the seenLinks.
func (s *State) seenLink(id linkID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.seen.links[id]
	return ok
}

// addLink is add for an item that a link leads to. The link is remembered if its URL is now known.
func (s *State) addLink(it *item, id linkID, limit int, form string, maxAlike int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added, err := s.addLocked(it, limit, form, maxAlike)
	if err == nil && added != tooManyAlike {
		s.seen.add(id)
	}
	return added, err
}
