package crawl

import "github.com/urlget/urlget/fetch"

func (c *crawl) skipUnchanged(it *item, listed bool) (bool, error) {
	if c.Skip == nil || !listed || it.Kind != fetch.EntryObject {
		return false, nil
	}
	memo, err := c.State.earlierMemo(it)
	if memo == nil || err != nil {
		return false, err
	}
	p := c.page(it, memo)
	if !c.Skip(p) {
		return false, nil
	}
	skipped, err := c.State.skip(it, p.Memo)
	if skipped {
		c.reportVisit(p, nil)
	}
	return true, err
}

// earlierMemo returns the Memo of an item's URL from an earlier crawl. It returns nil if no earlier
// visit succeeded, or if the URL is already known in this crawl.
func (s *State) earlierMemo(it *item) (memo []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.urls.get(s, it.id())
	if r == nil || err != nil || r.run == s.run || r.state != done {
		return nil, err
	}
	return r.memo, nil
}

// skip records that an item needs no visit. It returns false if another page has added the URL to
// this crawl in the meantime.
func (s *State) skip(it *item, memo []byte) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := it.id()
	r, err := s.urls.get(s, key)
	if r == nil || err != nil || r.run == s.run {
		return false, err
	}
	r.run, r.depth, r.memo = s.run, it.Depth, memo
	s.urls.put(key, r)
	return true, s.writeIfDue()
}
