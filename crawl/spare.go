package crawl

import "github.com/urlget/urlget/fetch"

// spare reports whether an item needs no visit, and ends it then.
func (c *crawl) spare(it *item, listed bool) (bool, error) {
	if c.Spare == nil || !listed || it.kind != fetch.EntryObject {
		return false, nil
	}
	memo, err := c.State.wasVisited(it)
	if memo == nil || err != nil {
		return false, err
	}
	p := c.page(it, memo)
	if !c.Spare(p) {
		return false, nil
	}
	mine, err := c.State.spare(it, p.Memo)
	if mine {
		c.ended(p, nil)
	}
	return true, err
}

// wasVisited returns what an earlier crawl left of an item's URL, nil if none visited it well or if
// it was met in this one.
func (s *State) wasVisited(it *item) (memo []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.record(it.id())
	if r == nil || err != nil || r.run == s.run || r.state != done {
		return nil, err
	}
	return r.memo, nil
}

// spare notes that an item needs no visit, unless its URL was met in this crawl meanwhile.
func (s *State) spare(it *item, memo []byte) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := it.id()
	r, err := s.record(key)
	if r == nil || err != nil || r.run == s.run {
		return false, err
	}
	r.run, r.depth, r.memo = s.run, it.depth, memo
	s.changes.put(urlsBucket, key, r.marshal())
	return true, s.writeIfDue()
}
