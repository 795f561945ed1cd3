package queue

import (
	"testing"
	"time"
)

// A shorter pause from one worker does not shorten a longer one from another.
func TestLongerPauseIsKept(t *testing.T) {
	t.Parallel()
	v := newMemory()
	now := time.Now()
	long := now.Add(time.Minute)
	one, two, three := newPauses(v), newPauses(v), newPauses(v)
	for _, c := range []struct {
		worker *pauses
		until  time.Time
	}{{one, long}, {two, now.Add(time.Second)}} {
		if err := c.worker.set(t.Context(), "host", c.until); err != nil {
			t.Fatal(err)
		}
	}
	for name, p := range map[string]*pauses{"worker with a shorter pause": two, "worker without a pause": three} {
		if until, err := p.until(t.Context(), "host"); err != nil || until.Before(long) {
			t.Errorf("%s: pause of %v, want a minute: %v", name, until.Sub(now), err)
		}
	}
	longer := long.Add(time.Minute)
	if err := three.set(t.Context(), "host", longer); err != nil {
		t.Fatal(err)
	}
	if until, err := newPauses(v).until(t.Context(), "host"); err != nil || until.Before(longer) {
		t.Errorf("pause of %v, want two minutes: %v", until.Sub(now), err)
	}
}
