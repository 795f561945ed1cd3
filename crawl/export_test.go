package crawl

import (
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/urlget/urlget/fetch/uri"
)

// AddAndFinish adds a URL and finishes its visit. If write is true, it writes the state in between.
// It returns the number of pending changes of the queue.
func (s *State) AddAndFinish(u uri.URI, write bool) (pending int, err error) {
	s.mu.Lock()
	s.written = time.Now().Add(time.Hour) // prevent automatic writes
	s.mu.Unlock()
	it := newItem(&Link{URL: u, Size: -1})
	if _, err := s.add(it, -1, "", 0); err != nil {
		return 0, err
	}
	if write {
		s.mu.Lock()
		err = s.write()
		s.written = time.Now().Add(time.Hour)
		s.mu.Unlock()
		if err != nil {
			return 0, err
		}
	}
	err = s.finishVisit(it, done, nil, -1)
	return len(s.queued) + s.unqueued.len(), err
}

// Queued writes pending changes and returns the number of queued items in the file.
func (s *State) Queued() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.write() != nil {
		return -1
	}
	s.view(func(tx *bolt.Tx) error {
		n = tx.Bucket(queueBucket).Stats().KeyN
		return nil
	})
	return n
}

// Crash closes the file of s without writing pending changes, like the end of the process.
func (s *State) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetChanges()
	s.stopReading()
	s.db.Close()
}

// MaxHosts, MaxHot and MaxItems limit the part of the queue that is in memory.
const (
	MaxHosts = maxHosts
	MaxHot   = maxHot
	MaxItems = maxItems
)

// InMemory returns the number of queued items and hosts in memory.
func (s *State) InMemory() (items, hosts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.queue.hosts {
		items += len(h.items)
	}
	return items, len(s.queue.hosts)
}

// NoSync disables syncing. Writes are then fast, but not durable.
func (s *State) NoSync() { s.db.NoSync = true }

// OpenNoSync is like Open followed by NoSync.
func OpenNoSync(name string) (*State, error) { return open(name, true) }
