package crawl

import (
	"bytes"
	"container/list"

	bolt "go.etcd.io/bbolt"
)

const (
	maxHosts = 1024 // hosts with a queue in memory
	// maxItems limits the items in memory. A host may have maxHot of them even beyond this limit,
	// so that other hosts cannot starve it.
	maxItems = 16_384
	maxHot   = 16
)

// A queue is the part of the queue that is in memory: the first items of some hosts.
type queue struct {
	hosts   map[string]*hostQueue
	count   int       // of all hosts
	ring    list.List // of *hostQueue; the host whose item was taken last is at the back
	spilled bool      // the file may have items of other hosts
	cursor  string    // the last host whose queue was opened from the file
}

type hostQueue struct {
	name       string
	items      []*item
	moreInFile bool   // the file may have items that follow these
	last       uint64 // the number of the last item appended to items; 0 if there was none
	taken      int    // items that are being visited
	elem       *list.Element
}

func (q *queue) init() { q.hosts = map[string]*hostQueue{} }

// push appends an item to the queue of its host, if there is room in memory.
func (q *queue) push(it *item) {
	name := it.URL.Host()
	h := q.hosts[name]
	if h == nil {
		if len(q.hosts) >= maxHosts || q.spilled { // older items of this host may be in the file
			q.spilled = true
			return
		}
		h = q.open(name)
	}
	if h.moreInFile || q.full(h) {
		h.moreInFile = true
		return
	}
	h.items, h.last = append(h.items, it), it.seq
	q.count++
}

func (q *queue) full(h *hostQueue) bool { return q.count >= maxItems && len(h.items) >= maxHot }

func (q *queue) open(name string) *hostQueue {
	h := &hostQueue{name: name}
	h.elem = q.ring.PushBack(h)
	q.hosts[name] = h
	return h
}

// take returns the next item of a host for which room returns true, or nil if there is none.
func (s *State) take(room func(host string) bool) (*item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.queue
	for {
		for n := q.ring.Len(); n > 0; n-- {
			h := q.ring.Front().Value.(*hostQueue)
			q.ring.MoveToBack(h.elem)
			if (len(h.items) > 0 || h.moreInFile) && !room(h.name) {
				continue
			}
			if err := s.load(h); err != nil {
				return nil, err
			}
			if len(h.items) > 0 {
				it := h.items[0]
				h.items[0] = nil
				h.items = h.items[1:]
				h.taken++
				q.count--
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

func (s *State) hasQueued() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.write() != nil {
		return true
	}
	found := false
	s.view(func(tx *bolt.Tx) error {
		k, _ := tx.Bucket(queueBucket).Cursor().First()
		found = k != nil
		return nil
	})
	return found
}

func (s *State) release(it *item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.queue.hosts[it.URL.Host()]; h != nil {
		h.taken--
	}
}

// load reads items of h from the file if none are in memory.
func (s *State) load(h *hostQueue) error {
	if len(h.items) > 0 || !h.moreInFile {
		return nil
	}
	if err := s.write(); err != nil {
		return err
	}
	prefix := append([]byte(h.name), 0)
	err := s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(queueBucket).Cursor()
		var k, v []byte
		if last := queueKey(h.name, h.last); h.last == 0 {
			k, v = c.Seek(prefix)
		} else if k, v = c.Seek(last); bytes.Equal(k, last) {
			k, v = c.Next()
		}
		for ; bytes.HasPrefix(k, prefix) && !s.queue.full(h); k, v = c.Next() {
			h.last = number(k[len(prefix):])
			it, err := unmarshalItem(v)
			if err != nil {
				return err
			}
			it.seq = h.last
			h.items = append(h.items, it)
			s.queue.count++
			s.countAccess(tx)
		}
		h.moreInFile = bytes.HasPrefix(k, prefix)
		return nil
	})
	return fileError(err)
}

// openNext opens the queue of the next host, in lexical order, that has items only in the file.
func (s *State) openNext() error {
	if err := s.write(); err != nil {
		return err
	}
	q := &s.queue
	return fileError(s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(queueBucket).Cursor()
		k, _ := c.Seek(append([]byte(q.cursor), 1)) // after all items of that host
		for wrapped := false; ; {
			if k == nil {
				if k, _ = c.First(); wrapped || k == nil {
					break
				}
				wrapped = true
			}
			host := string(k[:max(len(k)-9, 0)])
			if q.hosts[host] == nil {
				q.open(host).moreInFile = true
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
