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

// A hosts value holds the host leases of a worker. Each host has perHost leases, and each allows
// one transfer at a time. A worker keeps its leases while it has jobs for the host, but at most for
// oldPlace if other workers want them.
type hosts struct {
	values  Values
	holder  string // unique among workers
	ttl     time.Duration
	perHost int
	delay   time.Duration // pause between two transfers with the same lease
	waited  func(time.Duration)
	most    int            // soft limit of leases for all hosts together
	freed   func()         // called when a lease becomes usable again
	ending  sync.WaitGroup // running deletions of leases

	mu    sync.Mutex
	known map[string]*hostPlaces
	doubt map[string]bool // keys that this worker may have leased, because a response was lost
}

// hostPlaces holds the leases for one host.
type hostPlaces struct {
	host   string
	asking mutex // held while a lease is requested
	places map[*place]bool
	users  int // callers that use or request a lease
}

// A place is a lease for one transfer at a host.
type place struct {
	at       *hostPlaces
	key      string
	revision uint64
	since    time.Time // time when the lease was acquired
	ready    time.Time // end of the pause after the last transfer
	free     time.Time // end of the last use
	used     bool
	lost     bool
	dropping bool        // its lease is being deleted
	expiry   *time.Timer // calls markLost when another worker may have the lease
	end      context.CancelCauseFunc
}

const (
	// placeWait limits the wait for a lease before the job returns to the queue.
	placeWait = 2 * time.Second
	// idlePlace is how long an unused lease is kept. oldPlace is how long a lease in constant use
	// is kept before another worker may get it.
	idlePlace = 250 * time.Millisecond
	oldPlace  = 10 * time.Second
)

var (
	errNoPlace = errors.New("the host has no free lease")
	errLost    = errors.New("lost the lease of the host")
)

func newHosts(v Values, ttl time.Duration, perHost int, delay time.Duration, holder string) *hosts {
	return &hosts{values: v, holder: holder, ttl: ttl, perHost: perHost, delay: delay, known: map[string]*hostPlaces{}, doubt: map[string]bool{}, most: math.MaxInt,
		waited: func(time.Duration) {}, freed: func() {}}
}

// hostKey returns the form of a host name in keys.
func hostKey(host string) string {
	sum := sha256.Sum256([]byte(host))
	return hex.EncodeToString(sum[:12])
}

// take waits for a lease for a host. The returned context is cancelled if the lease is lost. The
// function give ends the use; the lease is then unusable for the given time.
func (h *hosts) take(ctx context.Context, host string) (_ context.Context, give func(time.Duration), err error) {
	if host == "" {
		return ctx, func(time.Duration) {}, nil
	}
	begun := time.Now()
	defer func() { h.waited(time.Since(begun)) }()
	hp := h.enter(host)
	if p := h.use(hp); p != nil {
		held, give := h.hold(ctx, p)
		return held, give, nil
	}
	if err := hp.asking.lock(ctx); err != nil {
		h.leave(hp)
		return nil, nil, err
	}
	defer hp.asking.unlock()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		p, err := h.try(ctx, hp)
		if err == nil && p != nil {
			held, give := h.hold(ctx, p)
			return held, give, nil
		}
		if err == nil && time.Since(begun) > placeWait+h.delay {
			err = errNoPlace
		}
		if err == nil && sleep(ctx, wait/2+rand.N(wait)) != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			h.leave(hp)
			return nil, nil, err
		}
	}
}

// reserve makes one attempt to acquire a lease for later use, and reports whether it succeeded.
func (h *hosts) reserve(ctx context.Context, host string) bool {
	hp := h.enter(host)
	defer h.leave(hp)
	if !hp.asking.tryLock() {
		return false // another goroutine is requesting a lease
	}
	defer hp.asking.unlock()
	p, err := h.try(ctx, hp)
	if err != nil || p == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p.used, p.free = false, time.Now()
	return true
}

// count returns how many leases for a host are usable now, and how many are in use.
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

// usable reports whether a lease can be used now. The caller holds h.mu.
func (p *place) usable(now time.Time) bool {
	return !p.used && !p.lost && !now.Before(p.ready) && now.Sub(p.since) < oldPlace
}

// enter registers a user of a host.
func (h *hosts) enter(host string) *hostPlaces {
	h.mu.Lock()
	defer h.mu.Unlock()
	hp := h.known[host]
	if hp == nil {
		hp = &hostPlaces{host: host, asking: newMutex(), places: map[*place]bool{}}
		h.known[host] = hp
	}
	hp.users++
	return hp
}

// use starts the use of an idle lease of this worker. It returns nil if there is none.
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

// hold returns the results of take for a lease.
func (h *hosts) hold(ctx context.Context, p *place) (context.Context, func(time.Duration)) {
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
		h.leave(p.at)
	}
}

func (h *hosts) leave(hp *hostPlaces) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hp.users--
	h.forget(hp)
}

// forget removes a host that has no users and no leases.
func (h *hosts) forget(hp *hostPlaces) {
	if hp.users == 0 && len(hp.places) == 0 && h.known[hp.host] == hp {
		delete(h.known, hp.host)
	}
}

// try returns an idle lease of this worker, or acquires one. It returns nil if none is available
// now.
func (h *hosts) try(ctx context.Context, hp *hostPlaces) (*place, error) {
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
		key := "host/" + hostKey(hp.host) + "/" + strconv.Itoa((first+i)%h.perHost)
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
		p := &place{at: hp, key: key, revision: revision, since: leased, used: true}
		h.mu.Lock()
		p.expiry = time.AfterFunc(time.Until(h.safe(leased)), func() { h.markLost(p) })
		hp.places[p] = true
		h.mu.Unlock()
		return p, nil
	}
	return nil, nil
}

// lease acquires the lease with a key. If this worker already has it because a response was lost,
// lease takes it over.
func (h *hosts) lease(ctx context.Context, key string) (revision uint64, asked time.Time, err error) {
	asked = time.Now()
	revision, err = h.values.Create(ctx, key, []byte(h.holder))
	if errors.Is(err, ErrExists) && h.isDoubtful(key) {
		revision, asked, err = h.takeOver(ctx, key)
	}
	h.recordDoubt(key, err)
	return revision, asked, err
}

// isDoubtful reports whether a response for a key was lost, so that this worker may have the lease.
func (h *hosts) isDoubtful(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.doubt[key]
}

// recordDoubt records whether the engine responded to a request for a key.
func (h *hosts) recordDoubt(key string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil, errors.Is(err, ErrExists), errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
		delete(h.doubt, key)
	case len(h.doubt) < maxPauses:
		h.doubt[key] = true // otherwise it expires
	}
}

// takeOver renews a lease of this worker, whatever its revision: the response to an earlier request
// may have been lost.
func (h *hosts) takeOver(ctx context.Context, key string) (revision uint64, asked time.Time, err error) {
	if revision, err = h.mine(ctx, key); err != nil {
		return 0, time.Time{}, err
	}
	asked = time.Now()
	revision, err = h.values.Update(ctx, key, []byte(h.holder), revision)
	return revision, asked, err
}

// mine returns the revision of a lease of this worker. If another worker has the lease, the error
// is ErrExists.
func (h *hosts) mine(ctx context.Context, key string) (revision uint64, err error) {
	value, revision, err := h.values.Get(ctx, key)
	if err == nil && string(value) != h.holder {
		err = ErrExists
	}
	return revision, err
}

// safe returns the time until which a lease requested at the time asked cannot have expired.
func (h *hosts) safe(asked time.Time) time.Time { return asked.Add(h.ttl - h.ttl/4) }

// markLost marks a lease as lost and cancels its user, because another worker may have it.
func (h *hosts) markLost(p *place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.lost = true
	if p.used && p.end != nil {
		p.end(errLost)
	}
}

// give ends the use of a lease. It releases the lease if this worker has had it for oldPlace, or
// otherwise the least recently used lease if there are too many.
func (h *hosts) give(p *place, rest time.Duration) {
	h.mu.Lock()
	p.used, p.end = false, nil
	p.free = time.Now()
	p.ready = p.free.Add(max(h.delay, rest))
	rest = p.ready.Sub(p.free)
	if p.lost || rest > 0 || p.free.Sub(p.since) < oldPlace {
		p = h.surplus()
	}
	if p != nil {
		p.lost, p.dropping = true, true // prevents further use
	}
	h.mu.Unlock()
	if p != nil {
		h.ending.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), h.ttl/2)
			defer cancel()
			h.drop(ctx, p)
		})
	}
	if rest > 0 {
		time.AfterFunc(rest, h.freed)
		return
	}
	h.freed()
}

// surplus returns the least recently used lease if this worker has too many, or nil. The caller
// holds h.mu.
func (h *hosts) surplus() (p *place) {
	n, now := 0, time.Now()
	for _, hp := range h.known {
		for one := range hp.places {
			if one.lost {
				continue
			}
			n++
			if one.usable(now) && (p == nil || one.free.Before(p.free)) {
				p = one
			}
		}
	}
	if n <= h.most {
		return nil
	}
	return p
}

// keep renews all leases. It is called several times within the TTL of a lease.
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

// tidy deletes idle, old and lost leases.
func (h *hosts) tidy(ctx context.Context) {
	var list []*place
	now := time.Now()
	h.mu.Lock()
	for _, hp := range h.known {
		for p := range hp.places {
			idle := !p.used && !now.Before(p.ready)
			if idle && (p.lost && !p.dropping || !p.lost && (now.Sub(p.free) >= idlePlace || now.Sub(p.since) >= oldPlace)) {
				p.lost, p.dropping = true, true // prevents further use
				list = append(list, p)
			}
		}
	}
	h.mu.Unlock()
	for _, p := range list {
		h.drop(ctx, p)
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
		h.markLost(p)
	case err == nil:
		h.mu.Lock()
		p.revision = revision
		if p.expiry.Stop() {
			p.expiry.Reset(time.Until(h.safe(asked)))
		}
		h.mu.Unlock()
	}
}

func (h *hosts) drop(ctx context.Context, p *place) {
	p.expiry.Stop()
	h.mu.Lock()
	revision := p.revision
	h.mu.Unlock()
	err := h.values.Delete(ctx, p.key, revision)
	if errors.Is(err, ErrConflict) { // a concurrent renewal changed the revision
		if revision, err = h.mine(ctx, p.key); err == nil {
			err = h.values.Delete(ctx, p.key, revision)
		}
	}
	h.recordDoubt(p.key, err) // otherwise it expires
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(p.at.places, p)
	h.forget(p.at)
}

// close deletes all leases. No lease may be used afterwards.
func (h *hosts) close(ctx context.Context) {
	h.ending.Wait()
	h.mu.Lock()
	known := h.known
	h.known = map[string]*hostPlaces{}
	h.mu.Unlock()
	for _, hp := range known {
		for p := range hp.places {
			h.drop(ctx, p)
		}
	}
}

// A mutex is a lock whose lock method returns when its context ends.
type mutex chan struct{}

func newMutex() mutex { return make(mutex, 1) }

func (m mutex) lock(ctx context.Context) error {
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m mutex) tryLock() bool {
	select {
	case m <- struct{}{}:
		return true
	default:
		return false
	}
}

func (m mutex) unlock() { <-m }

// sleep waits for d or until ctx ends.
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
