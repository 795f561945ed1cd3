package main

import "sync"

// A met remembers the hosts whose addresses the scheduler was told, so that not every transfer is
// watched for them.
type met struct {
	mu    sync.Mutex
	hosts map[string]int // for how many transfers more they are known
}

const (
	// metFor is after how many transfers a host is looked at again, as it may have other addresses.
	metFor = 100
	// maxMet is how many hosts are remembered. All are forgotten if there are more.
	maxMet = 10_000
)

// known reports whether a host need not be looked at for the next transfer.
func (m *met) known(host string) bool {
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

// add notes that a host was looked at.
func (m *met) add(host string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hosts == nil || len(m.hosts) >= maxMet {
		m.hosts = map[string]int{}
	}
	m.hosts[host] = metFor
}
