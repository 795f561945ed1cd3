package queue

import "testing"

// Between the use of a place and the note that the job needs none, Next may look and find the
// others spoken for: it has to look again.
func TestNextLooksAgainOnceAJobHasItsPlace(t *testing.T) {
	t.Parallel()
	r := &run{prefetch: newPrefetch()}
	r.prefetch.handed["h"] = 1
	one := &task{run: r, host: "h", handed: true}
	one.recordPlace()
	select {
	case <-r.prefetch.wake:
	default:
		t.Error("nobody looks")
	}
	if one.recordPlace(); len(r.prefetch.wake) > 0 || len(r.prefetch.handed) > 0 {
		t.Errorf("%d wake, %v handed out: it was noted twice", len(r.prefetch.wake), r.prefetch.handed)
	}
}
