package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// The hosts are the places that a worker has at hosts. A place is a lease: each host has as many as
// it bears transfers at once, and who has one may do a transfer there. A worker keeps its places
// while it has work for the host, but not for ever.
type hosts struct {
	values  Values
	holder  string // no other worker has the same
	ttl     time.Duration
	perHost int
	delay   time.Duration // between two transfers in one place
	waited  func(time.Duration)

	mu    sync.Mutex
	known map[string]*hostPlaces
}

// hostPlaces are the places at one host.
type hostPlaces struct {
	asking chan struct{} // holds a value unless somebody asks for a place
	places map[*place]bool
	users  int // who ask or have a place
}

// A place is at one host.
type place struct {
	key      string
	revision uint64
	since    time.Time // when it was leased first
	ready    time.Time // when it may be used again
	free     time.Time // since when nobody uses it
	used     bool
	lost     bool
	expiry   *time.Timer // calls end when the lease may be somebody else's
	end      context.CancelCauseFunc
}

const (
	// placeWait is how long to wait for a place before the job goes back to the queue.
	placeWait = 2 * time.Second
	// idlePlace is for how long a place is kept that nobody uses, and oldPlace for how long one is
	// that is always used: then another worker may have it.
	idlePlace = time.Second
	oldPlace  = 10 * time.Second
)

var (
	errNoPlace = errors.New("all places at the host are taken")
	errLost    = errors.New("the lease of the host was lost")
)

func newHosts(v Values, ttl time.Duration, perHost int, delay time.Duration, holder string) *hosts {
	return &hosts{values: v, holder: holder, ttl: ttl, perHost: perHost, delay: delay, known: map[string]*hostPlaces{},
		waited: func(time.Duration) {}}
}

// hostKey returns what a host is called in keys.
func hostKey(host string) string {
	sum := sha256.Sum256([]byte(host))
	return hex.EncodeToString(sum[:12])
}

// take waits for a place at a host. The context that it returns ends when the place is lost; give
// ends its use, for so long at least.
func (h *hosts) take(ctx context.Context, host string) (_ context.Context, give func(time.Duration), err error) {
	if host == "" {
		return ctx, func(time.Duration) {}, nil
	}
	begun := time.Now()
	defer func() { h.waited(time.Since(begun)) }()
	h.mu.Lock()
	hp := h.known[host]
	if hp == nil {
		hp = &hostPlaces{asking: make(chan struct{}, 1), places: map[*place]bool{}}
		hp.asking <- struct{}{}
		h.known[host] = hp
	}
	hp.users++
	h.mu.Unlock()
	select {
	case <-hp.asking:
	case <-ctx.Done():
		h.leave(host, hp)
		return nil, nil, context.Cause(ctx)
	}
	defer func() { hp.asking <- struct{}{} }()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		p, err := h.try(ctx, host, hp)
		if err != nil {
			h.leave(host, hp)
			return nil, nil, err
		}
		if p != nil {
			ctx, cancel := context.WithCancelCause(ctx)
			h.mu.Lock()
			p.end = cancel
			if p.lost {
				cancel(errLost)
			}
			h.mu.Unlock()
			return ctx, func(rest time.Duration) {
				cancel(nil)
				h.give(p, rest)
				h.leave(host, hp)
			}, nil
		}
		if time.Since(begun) > placeWait+h.delay {
			h.leave(host, hp)
			return nil, nil, errNoPlace
		}
		if sleep(ctx, wait/2+rand.N(wait)) != nil {
			h.leave(host, hp)
			return nil, nil, context.Cause(ctx)
		}
	}
}

func (h *hosts) leave(host string, hp *hostPlaces) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hp.users--
	h.forget(host, hp)
}

// forget drops what is known of a host that nothing goes on at.
func (h *hosts) forget(host string, hp *hostPlaces) {
	if hp.users == 0 && len(hp.places) == 0 && h.known[host] == hp {
		delete(h.known, host)
	}
}

// try returns a place that this worker has and does not use, or leases one; nil if there is none
// now.
func (h *hosts) try(ctx context.Context, host string, hp *hostPlaces) (*place, error) {
	now := time.Now()
	mine := map[string]bool{}
	h.mu.Lock()
	for p := range hp.places {
		mine[p.key] = true
		if !p.used && !p.lost && !now.Before(p.ready) && now.Sub(p.since) < oldPlace {
			p.used = true
			h.mu.Unlock()
			return p, nil
		}
	}
	h.mu.Unlock()
	first := rand.IntN(h.perHost)
	for i := range h.perHost {
		key := "host/" + hostKey(host) + "/" + strconv.Itoa((first+i)%h.perHost)
		if mine[key] {
			continue
		}
		revision, leased, err := h.lease(ctx, key)
		switch {
		case errors.Is(err, ErrExists), errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return nil, err
		}
		p := &place{key: key, revision: revision, since: leased, used: true}
		h.mu.Lock()
		p.expiry = time.AfterFunc(time.Until(h.safe(leased)), func() { h.lose(p) })
		hp.places[p] = true
		h.mu.Unlock()
		return p, nil
	}
	return nil, nil
}

// lease leases a place, or takes it over if it is this worker's: one whose answer was lost.
func (h *hosts) lease(ctx context.Context, key string) (revision uint64, asked time.Time, err error) {
	asked = time.Now()
	revision, err = h.values.Create(ctx, key, []byte(h.holder))
	if !errors.Is(err, ErrExists) {
		return revision, asked, err
	}
	return h.takeOver(ctx, key)
}

// takeOver renews a lease that is this worker's, whatever its revision: the answer to an earlier
// request may have been lost.
func (h *hosts) takeOver(ctx context.Context, key string) (revision uint64, asked time.Time, err error) {
	value, revision, err := h.values.Get(ctx, key)
	if err != nil || string(value) != h.holder {
		return 0, time.Time{}, cmp.Or(err, ErrExists)
	}
	asked = time.Now()
	revision, err = h.values.Update(ctx, key, value, revision)
	return revision, asked, err
}

// safe returns until when a lease that was asked for then is certainly nobody else's.
func (h *hosts) safe(asked time.Time) time.Time { return asked.Add(h.ttl - h.ttl/4) }

// lose ends whoever uses a place, as another worker may have it.
func (h *hosts) lose(p *place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.lost = true
	if p.used && p.end != nil {
		p.end(errLost)
	}
}

func (h *hosts) give(p *place, rest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.used, p.end = false, nil
	p.free = time.Now()
	p.ready = p.free.Add(max(h.delay, rest))
}

// keep renews the leases of places in use and ends those of others. It is called again and again,
// several times within the life of a lease.
func (h *hosts) keep(ctx context.Context) {
	type held struct {
		host string
		of   *hostPlaces
		p    *place
		drop bool
	}
	var list []held
	now := time.Now()
	h.mu.Lock()
	for host, hp := range h.known {
		for p := range hp.places {
			idle := !p.used && !now.Before(p.ready)
			drop := idle && (p.lost || now.Sub(p.free) >= idlePlace || now.Sub(p.since) >= oldPlace)
			if drop {
				p.lost = true // so that nobody takes it meanwhile
			}
			list = append(list, held{host, hp, p, drop})
		}
	}
	h.mu.Unlock()
	for _, l := range list {
		if l.drop {
			h.drop(ctx, l.host, l.of, l.p)
			continue
		}
		h.renew(ctx, l.p)
	}
}

func (h *hosts) renew(ctx context.Context, p *place) {
	h.mu.Lock()
	lost, revision := p.lost, p.revision
	h.mu.Unlock()
	if lost {
		return
	}
	asked := time.Now()
	revision, err := h.values.Update(ctx, p.key, []byte(h.holder), revision)
	if errors.Is(err, ErrConflict) {
		revision, asked, err = h.takeOver(ctx, p.key)
	}
	switch {
	case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound), errors.Is(err, ErrExists):
		h.lose(p)
	case err == nil:
		h.mu.Lock()
		p.revision = revision
		if p.expiry.Stop() {
			p.expiry.Reset(time.Until(h.safe(asked)))
		}
		h.mu.Unlock()
	}
}

func (h *hosts) drop(ctx context.Context, host string, hp *hostPlaces, p *place) {
	p.expiry.Stop()
	h.values.Delete(ctx, p.key, p.revision) // or it ends by itself
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(hp.places, p)
	h.forget(host, hp)
}

// close ends all leases. Nobody may use a place any more.
func (h *hosts) close(ctx context.Context) {
	h.mu.Lock()
	known := h.known
	h.known = map[string]*hostPlaces{}
	h.mu.Unlock()
	for host, hp := range known {
		for p := range hp.places {
			h.drop(ctx, host, hp, p)
		}
	}
}

// sleep waits, but not beyond the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
