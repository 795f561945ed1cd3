package crawl

// Crash closes the file of s as the end of the process would: what was not written is lost.
func (s *State) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = changes{}
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
		items += len(h.hot)
	}
	return items, len(s.queue.hosts)
}

// NoSync makes writing quick: nothing is durable then.
func (s *State) NoSync() { s.db.NoSync = true }

// OpenNoSync is Open and NoSync.
func OpenNoSync(name string) (*State, error) { return open(name, true) }
