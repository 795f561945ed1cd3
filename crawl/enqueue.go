package crawl

import "cmp"

// The results of add.
const (
	alreadyKnown = iota // the URL is already known in this crawl
	newlyQueued         // the item was queued
	tooManyAlike        // too many URLs have its form
)

// add queues an item unless its URL is already known in this crawl. A visited URL is queued again if
// the new path to it is shorter than limit, because its links, and theirs, get nearer; if limit is
// negative, depth is not limited. At most maxAlike URLs have the same form, unless form is "".
func (s *State) add(it *item, limit int, form string, maxAlike int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := it.id()
	r, err := s.urls.get(s, key)
	if err != nil {
		return alreadyKnown, err
	}
	if r != nil && r.run == s.run {
		if it.Depth >= r.depth {
			return alreadyKnown, nil
		}
		if r.state != done || it.Depth >= limit { // to be visited, or at the limit
			r.depth = it.Depth
			s.urls.put(key, r)
			return alreadyKnown, s.writeIfDue()
		}
	} else if form != "" && maxAlike >= 0 {
		n, err := s.shapes.get(s, form)
		if err != nil {
			return alreadyKnown, err
		}
		if n >= count(maxAlike) {
			return tooManyAlike, nil
		}
		s.shapes.put(form, n+1)
	}
	return s.enqueueNew(it, r)
}

// addAgain queues an item even if its URL is known.
func (s *State) addAgain(it *item) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.urls.get(s, it.id())
	if err != nil {
		return alreadyKnown, err
	}
	return s.enqueueNew(it, r)
}

// enqueueNew records that the URL of an item is known in this crawl and queues the item. r is the
// URL's record, or nil.
func (s *State) enqueueNew(it *item, r *record) (int, error) {
	r = cmp.Or(r, &record{})
	r.run, r.state, r.depth = s.run, queued, it.Depth
	s.urls.put(it.id(), r)
	s.enqueue(it)
	return newlyQueued, s.writeIfDue()
}

func (s *State) enqueue(it *item) {
	s.seq++
	it.seq = s.seq
	s.queued[it.seq] = it
	s.waiting++
	s.queue.push(it)
}

// finishVisit records the outcome of a visit. If a path to the URL that is shorter than limit was
// found during the visit, the URL is queued again.
func (s *State) finishVisit(it *item, state byte, memo []byte, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := it.id()
	r, err := s.urls.get(s, key)
	if err != nil {
		return err
	}
	if r == nil {
		r = &record{run: s.run, depth: it.Depth}
	}
	r.state, r.memo = state, memo
	s.urls.put(key, r)
	if _, ok := s.queued[it.seq]; ok {
		delete(s.queued, it.seq) // it was never written
	} else {
		s.unqueued.put(string(it.queueKey()), "")
	}
	s.waiting--
	if state == failed {
		s.failed.put(string(it.queueKey()), text(it.appendTo(nil)))
	}
	if state == done && r.run == s.run && r.depth < min(it.Depth, limit) {
		r.state = queued
		s.urls.put(key, r)
		again := *it
		again.Depth = r.depth
		s.enqueue(&again)
	}
	return s.writeIfDue()
}
