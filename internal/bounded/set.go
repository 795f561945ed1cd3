// Package bounded provides sets of limited size that drop their oldest elements, for the state of
// long-lived clients.
package bounded

import "sync"

// A Set remembers the most recently added elements, up to a maximum number. It is safe for
// concurrent use.
type Set[T comparable] struct {
	mu    sync.Mutex
	order []T // a ring buffer once it is full
	next  int // index of the oldest element in a full ring
	has   map[T]int
	max   int
}

// NewSet returns a set of at most max elements. It panics if max is not positive.
func NewSet[T comparable](max int) *Set[T] {
	if max <= 0 {
		panic("bounded: a set of none")
	}
	return &Set[T]{has: make(map[T]int), max: max}
}

// Has reports whether e is in the set.
func (s *Set[T]) Has(e T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.has[e]
	return ok
}

// Add adds e to the set, replacing the oldest element if the set is full. It reports whether e is
// new.
func (s *Set[T]) Add(e T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.has[e]; ok {
		return false
	}
	if len(s.order) < s.max {
		s.has[e] = len(s.order)
		s.order = append(s.order, e)
		return true
	}
	if old := s.order[s.next]; s.has[old] == s.next {
		delete(s.has, old)
	}
	s.has[e] = s.next
	s.order[s.next] = e
	s.next = (s.next + 1) % s.max
	return true
}

// Remove removes e from the set.
func (s *Set[T]) Remove(e T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.has, e)
}
