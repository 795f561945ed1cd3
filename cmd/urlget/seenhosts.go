package main

import (
	"sync"

	"github.com/urlget/urlget/fetch/uri"
)

// seenHosts remembers the hosts whose addresses the scheduler knows, so that not every transfer is
// recorded.
type seenHosts struct {
	mu    sync.Mutex
	hosts map[uri.Origin]int // number of transfers until the next check
}

const (
	// seenFor is the number of transfers after which a host is checked again for new addresses.
	seenFor = 100
	// maxSeenHosts limits the number of remembered hosts. All are forgotten if there are more.
	maxSeenHosts = 10_000
)

// known reports whether a host needs no check for the next transfer.
func (m *seenHosts) known(host uri.Origin) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := m.hosts[host]
	if left <= 1 {
		delete(m.hosts, host)
		return left == 1
	}
	m.hosts[host] = left - 1
	return true
}

func (m *seenHosts) add(host uri.Origin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hosts == nil || len(m.hosts) >= maxSeenHosts {
		m.hosts = map[uri.Origin]int{}
	}
	m.hosts[host] = seenFor
}
