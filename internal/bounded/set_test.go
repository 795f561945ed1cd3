package bounded

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSetKeepsNewestElements compares a set with a slice of all that was added.
func TestSetKeepsNewestElements(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		max := rapid.IntRange(1, 5).Draw(t, "max")
		s := NewSet[int](max)
		for range 50 {
			e := rapid.IntRange(0, 8).Draw(t, "element")
			if rapid.Bool().Draw(t, "remove") {
				s.Remove(e)
				if s.Has(e) {
					t.Fatalf("%d is there after Remove", e)
				}
				continue
			}
			had := s.Has(e)
			if s.Add(e) == had || !s.Has(e) {
				t.Fatalf("Add(%d) of an element that was there: %v", e, had)
			}
			n := 0
			for i := range 9 {
				if s.Has(i) {
					n++
				}
			}
			if n > max {
				t.Fatalf("%d elements in a set of %d", n, max)
			}
		}
	})
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
