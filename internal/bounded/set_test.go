package bounded

import (
	"math/rand/v2"
	"testing"
)

// TestSetKeepsNewestElements compares a set with a slice of all that was added.
func TestSetKeepsNewestElements(t *testing.T) {
	t.Parallel()
	for range 100 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		max := 1 + random.IntN(5)
		s := NewSet[int](max)
		for range 50 {
			e := random.IntN(9)
			if random.IntN(2) == 0 {
				s.Remove(e)
				if s.Has(e) {
					t.Fatalf("seed %d: %d is there after Remove", seed, e)
				}
				continue
			}
			had := s.Has(e)
			if s.Add(e) == had || !s.Has(e) {
				t.Fatalf("seed %d: Add(%d) of an element that was there: %v", seed, e, had)
			}
			n := 0
			for i := range 9 {
				if s.Has(i) {
					n++
				}
			}
			if n > max {
				t.Fatalf("seed %d: %d elements in a set of %d", seed, n, max)
			}
		}
	}
}

func TestOldestElementIsRemoved(t *testing.T) {
	t.Parallel()
	s := NewSet[string](2)
	for _, e := range []string{"a", "b", "a", "c"} {
		s.Add(e)
	}
	if s.Has("a") || !s.Has("b") || !s.Has("c") {
		t.Error("the set does not hold the last two")
	}
}
