package mcptools

import (
	"context"
	"sync"
)

const (
	// maxActive is the number of calls that run at once. Each may hold a document of MaxContent.
	maxActive = 32
	// maxPerHost is the number of calls for one host that run at once, so that a slow one does not stop
	// the calls for others.
	maxPerHost = 4
)

// slots limit the calls that run at once, in all and for each host.
type slots struct {
	all   chan struct{}
	mu    sync.Mutex
	hosts map[string]*hostSlots
}

type hostSlots struct {
	taken chan struct{}
	users int // the calls that wait or run; guarded by slots.mu
}

func newSlots() *slots {
	return &slots{all: make(chan struct{}, maxActive), hosts: make(map[string]*hostSlots)}
}

// take waits until a call for host may run. The caller must call free at its end.
func (s *slots) take(ctx context.Context, host string) (free func(), err error) {
	h := s.join(host)
	if err := enter(ctx, h.taken); err != nil {
		s.leave(host, h)
		return nil, err
	}
	if err := enter(ctx, s.all); err != nil {
		<-h.taken
		s.leave(host, h)
		return nil, err
	}
	return func() {
		<-s.all
		<-h.taken
		s.leave(host, h)
	}, nil
}

func enter(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *slots) join(host string) *hostSlots {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[host]
	if h == nil {
		h = &hostSlots{taken: make(chan struct{}, maxPerHost)}
		s.hosts[host] = h
	}
	h.users++
	return h
}

func (s *slots) leave(host string, h *hostSlots) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(s.hosts, host)
	}
}
