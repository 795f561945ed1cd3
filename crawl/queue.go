package crawl

import (
	"bytes"
	"container/list"

	bolt "go.etcd.io/bbolt"
)

const (
	// maxHosts is how many hosts have a queue in memory. The others wait in the file.
	maxHosts = 1024
	// maxItems is how many items are in memory; those behind them are in the file alone. A host may
	// have maxHot of them even so, that it is not starved by others.
	maxItems = 16_384
	maxHot   = 16
)

// A queue is the part of the queue that is in memory: the first items of some hosts.
type queue struct {
	hosts   map[string]*hostQueue
	items   int       // of all hosts
	ring    list.List // of *hostQueue, the one that gave an item last at the end
	spilled bool      // there may be other hosts in the file
	cursor  string    // the host that was last taken from there
}

// A hostQueue is the queue of one host.
type hostQueue struct {
	name  string
	hot   []*item
	more  bool   // there may be items behind hot in the file
	last  []byte // the place of the last item that was in hot
	taken int    // items that are being visited
	elem  *list.Element
}

func (q *queue) init() { q.hosts = map[string]*hostQueue{} }

// push puts an item at the end, where there is room for it.
func (q *queue) push(it *item) {
	name := it.url.Host()
	h := q.hosts[name]
	if h == nil {
		if len(q.hosts) >= maxHosts || q.spilled { // those of the host that are in the file go first
			q.spilled = true
			return
		}
		h = q.open(name)
	}
	if h.more || q.full(h) {
		h.more = true
		return
	}
	h.hot, h.last = append(h.hot, it), it.place
	q.items++
}

// full reports whether there is no room for another item of h.
func (q *queue) full(h *hostQueue) bool { return q.items >= maxItems && len(h.hot) >= maxHot }

func (q *queue) open(name string) *hostQueue {
	h := &hostQueue{name: name}
	h.elem = q.ring.PushBack(h)
	q.hosts[name] = h
	return h
}

// take returns the next item of a host for which room returns true, or nil.
func (s *State) take(room func(host string) bool) (*item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.queue
	for {
		for n := q.ring.Len(); n > 0; n-- {
			h := q.ring.Front().Value.(*hostQueue)
			q.ring.MoveToBack(h.elem)
			if (len(h.hot) > 0 || h.more) && !room(h.name) {
				continue
			}
			if err := s.load(h); err != nil {
				return nil, err
			}
			if len(h.hot) > 0 {
				it := h.hot[0]
				h.hot[0] = nil
				h.hot = h.hot[1:]
				h.taken++
				q.items--
				return it, nil
			}
			if h.taken == 0 {
				q.ring.Remove(h.elem)
				delete(q.hosts, h.name)
			}
		}
		if !q.spilled || len(q.hosts) >= maxHosts {
			return nil, nil
		}
		if err := s.openNext(); err != nil {
			return nil, err
		}
	}
}

// waits reports whether anything is in the queue.
func (s *State) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.write() != nil {
		return true
	}
	waits := false
	s.view(func(tx *bolt.Tx) error {
		k, _ := tx.Bucket(queueBucket).Cursor().First()
		waits = k != nil
		return nil
	})
	return waits
}

// leave notes that an item is no longer being visited.
func (s *State) leave(it *item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.queue.hosts[it.url.Host()]; h != nil {
		h.taken--
	}
}

// load reads items of h from the file if there are none in memory.
func (s *State) load(h *hostQueue) error {
	if len(h.hot) > 0 || !h.more {
		return nil
	}
	if err := s.write(); err != nil {
		return err
	}
	prefix := append([]byte(h.name), 0)
	err := s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(queueBucket).Cursor()
		var k, v []byte
		if h.last == nil {
			k, v = c.Seek(prefix)
		} else if k, v = c.Seek(h.last); bytes.Equal(k, h.last) {
			k, v = c.Next()
		}
		for ; bytes.HasPrefix(k, prefix) && !s.queue.full(h); k, v = c.Next() {
			if h.last = bytes.Clone(k); s.claimed[string(k)] {
				continue
			}
			it, err := unmarshalItem(v)
			if err != nil {
				return err
			}
			it.place = h.last
			h.hot = append(h.hot, it)
			s.queue.items++
			s.touched(tx)
		}
		h.more = bytes.HasPrefix(k, prefix)
		return nil
	})
	return fileError(err)
}

// openNext opens the queue of a host that has items in the file alone, the next one in the order of
// names, if there is one.
func (s *State) openNext() error {
	if err := s.write(); err != nil {
		return err
	}
	q := &s.queue
	return fileError(s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(queueBucket).Cursor()
		k, _ := c.Seek(append([]byte(q.cursor), 1)) // behind all items of that host
		for wrapped := false; ; {
			if k == nil {
				if k, _ = c.First(); wrapped || k == nil {
					break
				}
				wrapped = true
			}
			host := string(k[:max(len(k)-9, 0)])
			if q.hosts[host] == nil {
				q.open(host).more = true
				q.cursor = host
				return nil
			}
			if wrapped && host > q.cursor {
				break
			}
			k, _ = c.Seek(append([]byte(host), 1))
		}
		q.spilled, q.cursor = false, ""
		return nil
	}))
}
