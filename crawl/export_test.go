package crawl

import (
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/urlget/urlget/fetch/uri"
)

// AddEnd adds a URL and ends its visit, and writes between if write is true. It returns how many
// changes of the queue are to be written then.
func (s *State) AddEnd(u uri.URI, write bool) (left int, err error) {
	s.mu.Lock()
	s.written = time.Now().Add(time.Hour) // nothing is due
	s.mu.Unlock()
	it := &item{url: u, size: -1}
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
	return len(s.changes[string(queueBucket)]), err
}

// Queued returns how many items the file has in its queue, once all is written.
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

// Crash closes the file of s as the end of the process would: what was not written is lost.
func (s *State) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = changes{}
	s.stopReading()
	s.db.Close()
}

// MaxHosts and MaxHot are how much of the queue is in memory.
const (
	MaxHosts = maxHosts
	MaxHot   = maxHot
	MaxItems = maxItems
)

// InMemory returns how many items of the queue are in memory, and of how many hosts.
func (s *State) InMemory() (items, hosts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.queue.hosts {
		items += len(h.items)
	}
	return items, len(s.queue.hosts)
}

// NoSync makes writing quick: nothing is durable then.
func (s *State) NoSync() { s.db.NoSync = true }

// OpenNoSync is Open and NoSync.
func OpenNoSync(name string) (*State, error) { return open(name, true) }
