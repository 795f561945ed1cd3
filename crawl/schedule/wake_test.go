package schedule

import (
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
)

func TestOnlyChangesWakeTheLoop(t *testing.T) {
	t.Parallel()
	s := New(nil)
	for _, step := range []struct {
		name  string
		do    func()
		wakes int
	}{
		{"first address", func() { s.SetAddress("a", "192.0.2.1") }, 1},
		{"same address", func() { s.SetAddress("a", "192.0.2.1") }, 0},
		{"new address", func() { s.SetAddress("a", "192.0.2.2") }, 1},
		{"default limit", func() { s.SetLimits("a", Limits{Parallel: 2}) }, 0},
		{"higher limit", func() { s.SetLimits("a", Limits{Parallel: -1}) }, 1},
		{"same limit", func() { s.SetLimits("a", Limits{Parallel: -1}) }, 0},
	} {
		step.do()
		if len(s.wake) != step.wakes {
			t.Errorf("%s: %d wakes, want %d", step.name, len(s.wake), step.wakes)
		}
		for len(s.wake) > 0 {
			<-s.wake
		}
	}
}

func TestPausedUntil(t *testing.T) {
	t.Parallel()
	s := New(nil)
	now := time.Now()
	s.Failed("a", &fetch.Error{Code: fetch.ErrBusy, RetryAfter: 30 * time.Second})
	if pause := s.PausedUntil("a").Sub(now); pause < 30*time.Second || pause > time.Minute {
		t.Errorf("pause of a busy host is %v", pause)
	}
	if s.PausedUntil("b").After(now) {
		t.Error("another host is paused")
	}
}
