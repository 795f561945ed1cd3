package sftp

import (
	"context"
	"slices"

	"github.com/urlget/urlget/fetch/uri"
)

// A key determines which connections are interchangeable.
type key struct {
	hops    string       // the hosts on the route, the users, and the names with settings
	login   uri.Userinfo // of the URL
	from    string       // the referring host; see target.from
	foreign bool
}

func (t *target) key() key {
	hops := ""
	for _, h := range t.route.hops {
		hops += " " + h.user + "@" + h.addr() + " " + h.url.Host()
	}
	return key{hops: hops, login: t.login, from: t.from, foreign: t.route.foreign}
}

type scopedKey struct {
	key   key
	scope string
}

// A slot is the capacity for one request on a connection. Because the pool leases slots, it limits
// the concurrent requests and the lifetime of idle connections.
type slot struct {
	session *session
	group   *group
	fresh   bool // the connection was opened for this slot
}

type group struct {
	key        scopedKey
	users      int           // callers of attach
	connecting chan struct{} // semaphore held while opening a connection
	sessions   []*session
}

// attach returns a slot, on an existing connection if possible. It opens only one connection per key
// at a time, because that connection may also have slots for the waiting callers.
func (d *opener) attach(ctx context.Context, t *target) (*slot, error) {
	k := scopedKey{t.key(), d.env.Scope(ctx)}
	d.mu.Lock()
	g := d.groups[k]
	if g == nil {
		g = &group{key: k, connecting: make(chan struct{}, 1)}
		d.groups[k] = g
	}
	g.users++
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		g.users--
		d.prune(g)
	}()

	select {
	case g.connecting <- struct{}{}:
		defer func() { <-g.connecting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s := d.reserve(g); s != nil {
		return &slot{session: s, group: g}, nil
	}
	s, err := d.connect(ctx, t.route)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.slots = 1
	g.sessions = append(g.sessions, s)
	return &slot{session: s, group: g, fresh: true}, nil
}

func (d *opener) reserve(g *group) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range g.sessions {
		if s.slots < requestsPerConn && s.usable() {
			s.slots++
			return s
		}
	}
	return nil
}

// detach releases a slot. Releasing the last slot closes the connection.
func (d *opener) detach(sl *slot) {
	d.mu.Lock()
	s, g := sl.session, sl.group
	s.slots--
	last := s.slots == 0
	if last {
		g.sessions = slices.DeleteFunc(g.sessions, func(other *session) bool { return other == s })
		d.prune(g)
	}
	d.mu.Unlock()
	if last {
		s.close()
	}
}

func (d *opener) prune(g *group) {
	if g.users == 0 && len(g.sessions) == 0 {
		delete(d.groups, g.key)
	}
}
