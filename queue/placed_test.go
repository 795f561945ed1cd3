package queue

import "testing"

// Between the use of a place and the note that the job needs none, Next may look and find the others
// spoken for: it has to look again.
func TestNextLooksAgainOnceAJobHasItsPlace(t *testing.T) {
	t.Parallel()
	r := &run{lobby: newLobby(), handed: map[string]int{"h": 1}}
	one := &task{run: r, host: "h", handed: true}
	one.placed()
	select {
	case <-r.lobby.wake:
	default:
		t.Error("nobody looks")
	}
	if one.placed(); len(r.lobby.wake) > 0 || len(r.handed) > 0 {
		t.Errorf("%d wake, %v handed out: it was noted twice", len(r.lobby.wake), r.handed)
	}
}
