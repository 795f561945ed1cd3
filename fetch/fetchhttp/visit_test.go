package fetchhttp

import (
	"io"
	"net"
	"testing"
)

// A new guest takes the place of the oldest one. Members keep theirs, whatever guests do, and their places
// are free again at the end.
func TestGuestsTakePlacesOfGuests(t *testing.T) {
	t.Parallel()
	h := newHall()
	var far []net.Conn
	enter := func() *visit {
		near, other := net.Pipe()
		t.Cleanup(func() { near.Close() })
		far = append(far, other)
		return h.enter(near, false)
	}
	first := enter()
	if !first.admit() || !first.isMember() || first.admit() != true {
		t.Fatal("a guest cannot become a member")
	}
	oldest := enter()
	for range maxGuests {
		enter()
	}
	if len(h.guests) != maxGuests {
		t.Errorf("there are %d guests", len(h.guests))
	}
	if _, err := far[1].Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the connection of the oldest guest: %v", err)
	}
	if oldest.end(); oldest.admit() {
		t.Error("a visit that has ended is admitted")
	}
	members := []*visit{first}
	for len(members) < maxConnections {
		v := enter()
		if !v.admit() {
			t.Fatalf("member %d has no place", len(members))
		}
		members = append(members, v)
	}
	late := enter()
	if late.admit() {
		t.Error("there are too many members")
	}
	first.end()
	first.end()
	if !late.admit() {
		t.Error("the place of a member is not free after its end")
	}
	for _, v := range append(members, late) {
		v.end()
	}
	if len(h.members) != 0 {
		t.Errorf("%d places are taken at the end", len(h.members))
	}
}
