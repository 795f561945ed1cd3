package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
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
	most    int            // places, of all hosts together; those in use may be more
	freed   func()         // is called when a place may be used again
	ending  sync.WaitGroup // leases that are being ended

	mu    sync.Mutex
	known map[string]*hostPlaces
	doubt map[string]bool // keys that may be leased without a place, as an answer was lost
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
	dropping bool        // its lease is being ended
	expiry   *time.Timer // calls end when the lease may be somebody else's
	end      context.CancelCauseFunc
}

const (
	// placeWait is how long to wait for a place before the job goes back to the queue.
	placeWait = 2 * time.Second
	// idlePlace is for how long a place is kept that nobody uses, and oldPlace for how long one is
	// that is always used: then another worker may have it.
	idlePlace = 250 * time.Millisecond
	oldPlace  = 10 * time.Second
)

var (
	errNoPlace = errors.New("all places at the host are taken")
	errLost    = errors.New("the lease of the host was lost")
)

func newHosts(v Values, ttl time.Duration, perHost int, delay time.Duration, holder string) *hosts {
	return &hosts{values: v, holder: holder, ttl: ttl, perHost: perHost, delay: delay, known: map[string]*hostPlaces{}, doubt: map[string]bool{}, most: math.MaxInt,
		waited: func(time.Duration) {}, freed: func() {}}
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
	hp := h.enter(host)
	if p := h.use(hp); p != nil {
		held, give := h.hold(ctx, host, hp, p)
		return held, give, nil
	}
	select {
	case <-hp.asking:
	case <-ctx.Done():
		h.leave(host, hp)
		return nil, nil, context.Cause(ctx)
	}
	defer func() { hp.asking <- struct{}{} }()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		p, err := h.try(ctx, host, hp)
		if err == nil && p != nil {
			held, give := h.hold(ctx, host, hp, p)
			return held, give, nil
		}
		if err == nil && time.Since(begun) > placeWait+h.delay {
			err = errNoPlace
		}
		if err == nil && sleep(ctx, wait/2+rand.N(wait)) != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			h.leave(host, hp)
			return nil, nil, err
		}
	}
}

// reserve asks once for a place at a host that is then kept for a while, and reports whether there
// is one.
func (h *hosts) reserve(ctx context.Context, host string) bool {
	hp := h.enter(host)
	defer h.leave(host, hp)
	select {
	case <-hp.asking:
	default:
		return false // somebody asks
	}
	defer func() { hp.asking <- struct{}{} }()
	p, err := h.try(ctx, host, hp)
	if err != nil || p == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p.used, p.free = false, time.Now()
	return true
}

// count returns how many places at a host could be used now, and how many are.
func (h *hosts) count(host string) (spare, used int) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if hp := h.known[host]; hp != nil {
		for p := range hp.places {
			switch {
			case p.used:
				used++
			case p.usable(now):
				spare++
			}
		}
	}
	return spare, used
}

// usable reports whether nothing speaks against the use of a place. The hosts are locked.
func (p *place) usable(now time.Time) bool {
	return !p.used && !p.lost && !now.Before(p.ready) && now.Sub(p.since) < oldPlace
}

// enter notes that somebody wants something of a host.
func (h *hosts) enter(host string) *hostPlaces {
	h.mu.Lock()
	defer h.mu.Unlock()
	hp := h.known[host]
	if hp == nil {
		hp = &hostPlaces{asking: make(chan struct{}, 1), places: map[*place]bool{}}
		hp.asking <- struct{}{}
		h.known[host] = hp
	}
	hp.users++
	return hp
}

// use begins the use of a place that this worker has; nil if there is none.
func (h *hosts) use(hp *hostPlaces) *place {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range hp.places {
		if p.usable(now) {
			p.used = true
			return p
		}
	}
	return nil
}

// hold returns what take does for a place.
func (h *hosts) hold(ctx context.Context, host string, hp *hostPlaces, p *place) (context.Context, func(time.Duration)) {
	ctx, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	p.end = cancel
	if p.lost {
		cancel(errLost)
	}
	h.mu.Unlock()
	return ctx, func(rest time.Duration) {
		cancel(nil)
		h.give(host, hp, p, rest)
		h.leave(host, hp)
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
	if p := h.use(hp); p != nil {
		return p, nil
	}
	mine := map[string]bool{}
	h.mu.Lock()
	for p := range hp.places {
		mine[p.key] = true
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
	if errors.Is(err, ErrExists) && h.doubts(key) {
		revision, asked, err = h.takeOver(ctx, key)
	}
	h.doubtful(key, err)
	return revision, asked, err
}

// doubts reports whether an answer about a key was lost, so that its lease may be this worker's.
func (h *hosts) doubts(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.doubt[key]
}

// doubtful notes how a request about a key ended: whether the engine answered.
func (h *hosts) doubtful(key string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil, errors.Is(err, ErrExists), errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
		delete(h.doubt, key)
	case len(h.doubt) < maxPauses:
		h.doubt[key] = true // else it ends by itself
	}
}

// takeOver renews a lease that is this worker's, whatever its revision: the answer to an earlier
// request may have been lost.
func (h *hosts) takeOver(ctx context.Context, key string) (revision uint64, asked time.Time, err error) {
	if revision, err = h.mine(ctx, key); err != nil {
		return 0, time.Time{}, err
	}
	asked = time.Now()
	revision, err = h.values.Update(ctx, key, []byte(h.holder), revision)
	return revision, asked, err
}

// mine returns the revision of a lease that is this worker's; ErrExists if it is another's.
func (h *hosts) mine(ctx context.Context, key string) (revision uint64, err error) {
	value, revision, err := h.values.Get(ctx, key)
	if err == nil && string(value) != h.holder {
		err = ErrExists
	}
	return revision, err
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

// give ends the use of a place. One that this worker has had for long is for others, and so is the
// one that was not used for longest if there are many.
func (h *hosts) give(host string, hp *hostPlaces, p *place, rest time.Duration) {
	h.mu.Lock()
	p.used, p.end = false, nil
	p.free = time.Now()
	p.ready = p.free.Add(max(h.delay, rest))
	rest = p.ready.Sub(p.free)
	if p.lost || rest > 0 || p.free.Sub(p.since) < oldPlace {
		host, hp, p = h.surplus()
	}
	if p != nil {
		p.lost, p.dropping = true, true // so that nobody takes it meanwhile
	}
	h.mu.Unlock()
	if p != nil {
		h.ending.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), h.ttl/2)
			defer cancel()
			h.drop(ctx, host, hp, p)
		})
	}
	if rest > 0 {
		time.AfterFunc(rest, h.freed)
		return
	}
	h.freed()
}

// surplus returns the place that was not used for longest if this worker has too many; p is nil if it
// has not. The hosts are locked.
func (h *hosts) surplus() (host string, hp *hostPlaces, p *place) {
	n, now := 0, time.Now()
	for name, of := range h.known {
		for one := range of.places {
			if one.lost {
				continue
			}
			n++
			if one.usable(now) && (p == nil || one.free.Before(p.free)) {
				host, hp, p = name, of, one
			}
		}
	}
	if n <= h.most {
		return "", nil, nil
	}
	return host, hp, p
}

// A heldPlace is a place and where it is.
type heldPlace struct {
	host string
	of   *hostPlaces
	p    *place
}

// keep renews the leases of places. It is called again and again, several times within the life of a
// lease.
func (h *hosts) keep(ctx context.Context) {
	var list []*place
	h.mu.Lock()
	for _, hp := range h.known {
		for p := range hp.places {
			list = append(list, p)
		}
	}
	h.mu.Unlock()
	for _, p := range list {
		h.renew(ctx, p)
	}
}

// tidy ends the leases of places that nobody uses, or that were lost.
func (h *hosts) tidy(ctx context.Context) {
	var list []heldPlace
	now := time.Now()
	h.mu.Lock()
	for host, hp := range h.known {
		for p := range hp.places {
			idle := !p.used && !now.Before(p.ready)
			if idle && (p.lost && !p.dropping || !p.lost && (now.Sub(p.free) >= idlePlace || now.Sub(p.since) >= oldPlace)) {
				p.lost, p.dropping = true, true // so that nobody takes it meanwhile
				list = append(list, heldPlace{host, hp, p})
			}
		}
	}
	h.mu.Unlock()
	for _, l := range list {
		h.drop(ctx, l.host, l.of, l.p)
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
	h.mu.Lock()
	revision := p.revision
	h.mu.Unlock()
	err := h.values.Delete(ctx, p.key, revision)
	if errors.Is(err, ErrConflict) { // it may have been renewed at the same time
		if revision, err = h.mine(ctx, p.key); err == nil {
			err = h.values.Delete(ctx, p.key, revision)
		}
	}
	h.doubtful(p.key, err) // or it ends by itself
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(hp.places, p)
	h.forget(host, hp)
}

// close ends all leases. Nobody may use a place any more.
func (h *hosts) close(ctx context.Context) {
	h.ending.Wait()
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
