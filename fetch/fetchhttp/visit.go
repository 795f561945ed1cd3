package fetchhttp

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

const (
	// maxConnections limits the connections of clients, and maxGuests those of clients that have not
	// logged in, which are counted apart.
	maxConnections = 512
	maxGuests      = 128
)

// A visit is a connection of a client to a proxy.
type visit struct {
	conn net.Conn
	hall *hall

	admitted bool // the client needs no login or has logged in; guarded by hall.mu
	ended    bool // guarded by hall.mu
}

// A hall has the connections to a proxy. If clients must log in, each connection is that of a guest until
// its first right login. Strangers can take the places of guests only, and the newest guest takes that of
// the oldest, so that they cannot keep out a client that logs in at once.
type hall struct {
	members chan struct{} // has an element for each connection that is admitted

	mu     sync.Mutex
	guests []*visit // oldest first
}

func newHall() *hall { return &hall{members: make(chan struct{}, maxConnections)} }

// reserve waits for a place of a member. It reports false if ctx ends.
func (h *hall) reserve(ctx context.Context) bool {
	select {
	case h.members <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// enter returns the visit of a member, for whom there is a place, or of a guest.
func (h *hall) enter(c net.Conn, admitted bool) *visit {
	v := &visit{conn: c, hall: h, admitted: admitted}
	if admitted {
		return v
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.guests) >= maxGuests {
		h.guests[0].conn.Close()
		h.guests = slices.Delete(h.guests, 0, 1)
	}
	h.guests = append(h.guests, v)
	return v
}

// admit makes a guest a member. It reports false if the visit has ended, or there is no place.
func (v *visit) admit() bool {
	if v == nil {
		return true
	}
	v.hall.mu.Lock()
	defer v.hall.mu.Unlock()
	switch {
	case v.admitted:
		return true
	case v.ended:
		return false
	}
	select {
	case v.hall.members <- struct{}{}:
	default:
		return false
	}
	v.forget()
	v.admitted = true
	return true
}

func (v *visit) isMember() bool {
	if v == nil {
		return false
	}
	v.hall.mu.Lock()
	defer v.hall.mu.Unlock()
	return v.admitted
}

// forget removes v from the guests. The caller has locked the hall.
func (v *visit) forget() {
	v.hall.guests = slices.DeleteFunc(v.hall.guests, func(g *visit) bool { return g == v })
}

// end frees the place of a connection. It may be called twice.
func (v *visit) end() {
	v.hall.mu.Lock()
	defer v.hall.mu.Unlock()
	if v.ended {
		return
	}
	v.ended = true
	v.forget()
	if v.admitted {
		<-v.hall.members
	}
}

type visitKey struct{}

func withVisit(ctx context.Context, v *visit) context.Context {
	return context.WithValue(ctx, visitKey{}, v)
}

// visitOf returns the visit that a request belongs to, or nil.
func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// abort ends a response that is incomplete, and its connection. It resets the connection, because its end
// would complete a response without a length to a client of HTTP/1.0.
func abort(ctx context.Context) {
	if v := visitOf(ctx); v != nil {
		if c, ok := v.conn.(interface{ SetLinger(int) error }); ok {
			c.SetLinger(0)
		}
		v.conn.Close()
	}
	panic(http.ErrAbortHandler)
}
