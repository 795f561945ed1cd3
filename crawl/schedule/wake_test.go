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
		{"met", func() { s.SetAddress("a", "192.0.2.1") }, 1},
		{"met there again", func() { s.SetAddress("a", "192.0.2.1") }, 0},
		{"met elsewhere", func() { s.SetAddress("a", "192.0.2.2") }, 1},
		{"as many as by default", func() { s.SetLimits("a", Limits{Parallel: 2}) }, 0},
		{"more", func() { s.SetLimits("a", Limits{Parallel: -1}) }, 1},
		{"as many again", func() { s.SetLimits("a", Limits{Parallel: -1}) }, 0},
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
		t.Errorf("a host that is busy is left alone for %v", pause)
	}
	if s.PausedUntil("b").After(now) {
		t.Error("another host is left alone")
	}
}
