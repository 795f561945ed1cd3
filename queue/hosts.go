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

	"github.com/urlget/urlget/fetch/retry"
)

// A hosts value holds the host leases of a worker. Each host has perHost leases, unless limits has
// another number, and each allows one transfer at a time. A worker keeps its leases while it has
// jobs for the host, but at most for maxLeaseTime if other workers want them.
type hosts struct {
	values     Values
	holder     string // unique among workers
	ttl        time.Duration
	perHost    int
	delay      time.Duration // pause between two transfers with the same lease
	recordWait func(time.Duration)
	maxLeases  int            // soft limit of leases for all hosts together
	onRelease  func()         // called when a lease becomes usable again
	deletions  sync.WaitGroup // running deletions of leases

	mu        sync.Mutex
	limits    *HostLimits // may be nil
	known     map[string]*hostLeases
	uncertain map[string]bool // keys that this worker may have leased, because a response was lost
}

type hostLeases struct {
	host       string
	requesting mutex // held while a lease is requested
	leases     map[*hostLease]bool
	users      int // callers that use or request a lease
	// The limits of the host, guarded by hosts.mu. They may change.
	perHost int
	delay   time.Duration
}

type hostLease struct {
	host     *hostLeases
	key      string
	index    int // below perHost, unless that was lowered
	revision uint64
	acquired time.Time // time when the lease was acquired
	usableAt time.Time // end of the pause after the last transfer
	lastUsed time.Time // end of the last use
	used     bool
	lost     bool
	deleting bool        // its lease is being deleted
	expiry   *time.Timer // calls markLost when another worker may have the lease
	end      context.CancelCauseFunc
}

const (
	// maxLeaseWait limits the wait for a lease before the job returns to the queue.
	maxLeaseWait = 2 * time.Second
	// idleLeaseTime is how long an unused lease is kept. maxLeaseTime is how long a lease in
	// constant use is kept before another worker may get it.
	idleLeaseTime = 250 * time.Millisecond
	maxLeaseTime  = 10 * time.Second
)

var (
	errNoLease = errors.New("the host has no free lease")
	errLost    = errors.New("lost the lease of the host")
)

func newHosts(v Values, ttl time.Duration, perHost int, delay time.Duration, holder string) *hosts {
	return &hosts{values: v, holder: holder, ttl: ttl, perHost: perHost, delay: delay,
		known: map[string]*hostLeases{}, uncertain: map[string]bool{}, maxLeases: math.MaxInt,
		recordWait: func(time.Duration) {}, onRelease: func() {}}
}

func hostKey(host string) string {
	sum := sha256.Sum256([]byte(host))
	return hex.EncodeToString(sum[:12])
}

// take waits for a lease for a host. The returned context is cancelled if the lease is lost. The
// function release ends the use; the lease is then unusable for the given time.
func (h *hosts) take(ctx context.Context, host string) (_ context.Context,
	release func(time.Duration), err error) {
	if host == "" {
		return ctx, func(time.Duration) {}, nil
	}
	start := time.Now()
	defer func() { h.recordWait(time.Since(start)) }()
	hp := h.addUser(host)
	if p := h.use(hp); p != nil {
		leaseCtx, release := h.startUse(ctx, p)
		return leaseCtx, release, nil
	}
	if err := hp.requesting.lock(ctx); err != nil {
		h.removeUser(hp)
		return nil, nil, err
	}
	defer hp.requesting.unlock()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		p, err := h.try(ctx, hp)
		if err == nil && p != nil {
			leaseCtx, release := h.startUse(ctx, p)
			return leaseCtx, release, nil
		}
		if err == nil && time.Since(start) > maxLeaseWait+h.maxDelay(hp) {
			err = errNoLease
		}
		if err == nil && retry.Sleep(ctx, wait/2+rand.N(wait)) != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			h.removeUser(hp)
			return nil, nil, err
		}
	}
}

// reserve makes one attempt to acquire a lease for later use, and reports whether it succeeded.
func (h *hosts) reserve(ctx context.Context, host string) bool {
	hp := h.addUser(host)
	defer h.removeUser(hp)
	if !hp.requesting.tryLock() {
		return false // another goroutine is requesting a lease
	}
	defer hp.requesting.unlock()
	p, err := h.try(ctx, hp)
	if err != nil || p == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p.used, p.lastUsed = false, time.Now()
	return true
}

// count returns how many leases for a host are usable now, and how many are in use and will be
// usable at once after that.
func (h *hosts) count(host string) (free, used int) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if hp := h.known[host]; hp != nil {
		for p := range hp.leases {
			switch {
			case p.used && hp.delay == 0 && !p.excess():
				used++
			case p.usable(now):
				free++
			}
		}
	}
	return free, used
}

// usable reports whether a lease can be used now. The caller holds h.mu.
func (p *hostLease) usable(now time.Time) bool {
	return !p.used && !p.lost && !p.excess() && !now.Before(p.usableAt) && now.Sub(p.acquired) < maxLeaseTime
}

// excess reports whether the limit of the host was lowered below the lease. The caller holds h.mu.
func (p *hostLease) excess() bool { return p.index >= p.host.perHost }

// setLimits changes the limits of hosts. Leases above a lower limit end with their transfer.
func (h *hosts) setLimits(l *HostLimits) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limits = l
	for _, hp := range h.known {
		h.limitHost(hp)
	}
}

// limitHost sets the limits of a host. The caller holds h.mu.
func (h *hosts) limitHost(hp *hostLeases) {
	hp.perHost, hp.delay = h.perHost, h.delay
	l := h.limits.of(hp.host)
	if l.perHost > 0 {
		hp.perHost = l.perHost
	}
	if l.delay >= 0 {
		hp.delay = l.delay
	}
}

func (h *hosts) limit(host string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if hp := h.known[host]; hp != nil {
		return hp.perHost
	}
	hp := hostLeases{host: host}
	h.limitHost(&hp)
	return hp.perHost
}

// maxDelay returns how long a caller of take waits for a lease that pauses.
func (h *hosts) maxDelay(hp *hostLeases) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return min(hp.delay, maxLeaseTime)
}

func (h *hosts) addUser(host string) *hostLeases {
	h.mu.Lock()
	defer h.mu.Unlock()
	hp := h.known[host]
	if hp == nil {
		hp = &hostLeases{host: host, requesting: newMutex(), leases: map[*hostLease]bool{}}
		h.limitHost(hp)
		h.known[host] = hp
	}
	hp.users++
	return hp
}

// use starts the use of an idle lease of this worker. It returns nil if there is none.
func (h *hosts) use(hp *hostLeases) *hostLease {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range hp.leases {
		if p.usable(now) {
			p.used = true
			return p
		}
	}
	return nil
}

func (h *hosts) startUse(ctx context.Context, p *hostLease) (context.Context, func(time.Duration)) {
	ctx, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	p.end = cancel
	if p.lost {
		cancel(errLost)
	}
	h.mu.Unlock()
	return ctx, func(pause time.Duration) {
		cancel(nil)
		h.release(p, pause)
		h.removeUser(p.host)
	}
}

func (h *hosts) removeUser(hp *hostLeases) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hp.users--
	h.forget(hp)
}

func (h *hosts) forget(hp *hostLeases) {
	if hp.users == 0 && len(hp.leases) == 0 && h.known[hp.host] == hp {
		delete(h.known, hp.host)
	}
}

// try returns an idle lease of this worker, or acquires one. It returns nil if none is available
// now.
func (h *hosts) try(ctx context.Context, hp *hostLeases) (*hostLease, error) {
	if p := h.use(hp); p != nil {
		return p, nil
	}
	held := map[string]bool{}
	h.mu.Lock()
	perHost := hp.perHost
	for p := range hp.leases {
		held[p.key] = true
	}
	h.mu.Unlock()
	first := rand.IntN(perHost)
	for i := range perHost {
		index := (first + i) % perHost
		key := "host/" + hostKey(hp.host) + "/" + strconv.Itoa(index)
		if held[key] {
			continue
		}
		revision, leased, err := h.lease(ctx, key)
		switch {
		case errors.Is(err, ErrExists), errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return nil, err
		}
		p := &hostLease{host: hp, key: key, index: index, revision: revision, acquired: leased, used: true}
		h.mu.Lock()
		p.expiry = time.AfterFunc(time.Until(h.safe(leased)), func() { h.markLost(p) })
		hp.leases[p] = true
		h.mu.Unlock()
		return p, nil
	}
	return nil, nil
}

// lease acquires the lease with a key. If this worker already has it because a response was lost,
// lease takes it over.
func (h *hosts) lease(ctx context.Context, key string) (revision uint64, requested time.Time, err error) {
	requested = time.Now()
	revision, err = h.values.Create(ctx, key, []byte(h.holder))
	if errors.Is(err, ErrExists) && h.mayHold(key) {
		revision, requested, err = h.takeOver(ctx, key)
	}
	h.recordResponse(key, err)
	return revision, requested, err
}

// mayHold reports whether a response for a key was lost, so that this worker may have the lease.
func (h *hosts) mayHold(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.uncertain[key]
}

// recordResponse records whether the engine responded to a request for a key.
func (h *hosts) recordResponse(key string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil, errors.Is(err, ErrExists), errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound):
		delete(h.uncertain, key)
	case len(h.uncertain) < maxPauses:
		h.uncertain[key] = true // otherwise it expires
	}
}

// takeOver renews a lease of this worker, whatever its revision: the response to an earlier request
// may have been lost.
func (h *hosts) takeOver(ctx context.Context, key string) (revision uint64, requested time.Time, err error) {
	if revision, err = h.ownRevision(ctx, key); err != nil {
		return 0, time.Time{}, err
	}
	requested = time.Now()
	revision, err = h.values.Update(ctx, key, []byte(h.holder), revision)
	return revision, requested, err
}

// ownRevision returns the revision of a lease of this worker. If another worker has the lease, the
// error is ErrExists.
func (h *hosts) ownRevision(ctx context.Context, key string) (revision uint64, err error) {
	value, revision, err := h.values.Get(ctx, key)
	if err == nil && string(value) != h.holder {
		err = ErrExists
	}
	return revision, err
}

// safe returns the time until which a lease requested at that time cannot have expired.
func (h *hosts) safe(requested time.Time) time.Time { return requested.Add(h.ttl - h.ttl/4) }

// markLost marks a lease as lost and cancels its user, because another worker may have it.
func (h *hosts) markLost(p *hostLease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.lost = true
	if p.used && p.end != nil {
		p.end(errLost)
	}
}

// release ends the use of a lease. It releases the lease if the limit was lowered below it or if
// this worker has had it for maxLeaseTime, or otherwise the least recently used lease if there are
// too many.
func (h *hosts) release(p *hostLease, pause time.Duration) {
	h.mu.Lock()
	p.used, p.end = false, nil
	p.lastUsed = time.Now()
	p.usableAt = p.lastUsed.Add(max(p.host.delay, pause))
	pause = p.usableAt.Sub(p.lastUsed)
	if !p.excess() && (p.lost || pause > 0 || p.lastUsed.Sub(p.acquired) < maxLeaseTime) {
		p = h.surplus()
	}
	if p != nil {
		p.lost, p.deleting = true, true // prevents further use
	}
	h.mu.Unlock()
	if p != nil {
		h.deletions.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), h.ttl/2)
			defer cancel()
			h.remove(ctx, p)
		})
	}
	if pause > 0 {
		time.AfterFunc(pause, h.onRelease)
		return
	}
	h.onRelease()
}

// surplus returns the least recently used lease if this worker has too many, or nil. The caller
// holds h.mu.
func (h *hosts) surplus() (p *hostLease) {
	n, now := 0, time.Now()
	for _, hp := range h.known {
		for one := range hp.leases {
			if one.lost {
				continue
			}
			n++
			if one.usable(now) && (p == nil || one.lastUsed.Before(p.lastUsed)) {
				p = one
			}
		}
	}
	if n <= h.maxLeases {
		return nil
	}
	return p
}

// renewAll renews all leases. It is called several times within the TTL of a lease.
func (h *hosts) renewAll(ctx context.Context) {
	var list []*hostLease
	h.mu.Lock()
	for _, hp := range h.known {
		for p := range hp.leases {
			list = append(list, p)
		}
	}
	h.mu.Unlock()
	for _, p := range list {
		h.renew(ctx, p)
	}
}

// deleteUnused deletes idle, old and lost leases, and those above a lowered limit.
func (h *hosts) deleteUnused(ctx context.Context) {
	var list []*hostLease
	now := time.Now()
	h.mu.Lock()
	for _, hp := range h.known {
		for p := range hp.leases {
			idle := !p.used && !now.Before(p.usableAt)
			above := !p.used && p.excess() && !p.deleting
			if above || idle &&
				(p.lost && !p.deleting ||
					!p.lost &&
						(now.Sub(p.lastUsed) >= idleLeaseTime || now.Sub(p.acquired) >= maxLeaseTime)) {
				p.lost, p.deleting = true, true // prevents further use
				list = append(list, p)
			}
		}
	}
	h.mu.Unlock()
	for _, p := range list {
		h.remove(ctx, p)
	}
}

func (h *hosts) renew(ctx context.Context, p *hostLease) {
	h.mu.Lock()
	lost, revision := p.lost, p.revision
	h.mu.Unlock()
	if lost {
		return
	}
	requested := time.Now()
	revision, err := h.values.Update(ctx, p.key, []byte(h.holder), revision)
	if errors.Is(err, ErrConflict) {
		revision, requested, err = h.takeOver(ctx, p.key)
	}
	switch {
	case errors.Is(err, ErrConflict), errors.Is(err, ErrNotFound), errors.Is(err, ErrExists):
		h.markLost(p)
	case err == nil:
		h.mu.Lock()
		p.revision = revision
		if p.expiry.Stop() {
			p.expiry.Reset(time.Until(h.safe(requested)))
		}
		h.mu.Unlock()
	}
}

func (h *hosts) remove(ctx context.Context, p *hostLease) {
	p.expiry.Stop()
	h.mu.Lock()
	revision := p.revision
	h.mu.Unlock()
	err := h.values.Delete(ctx, p.key, revision)
	if errors.Is(err, ErrConflict) { // a concurrent renewal changed the revision
		if revision, err = h.ownRevision(ctx, p.key); err == nil {
			err = h.values.Delete(ctx, p.key, revision)
		}
	}
	h.recordResponse(p.key, err) // otherwise it expires
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(p.host.leases, p)
	h.forget(p.host)
}

// close deletes all leases. No lease may be used afterwards.
func (h *hosts) close(ctx context.Context) {
	h.deletions.Wait()
	h.mu.Lock()
	known := h.known
	h.known = map[string]*hostLeases{}
	h.mu.Unlock()
	for _, hp := range known {
		for p := range hp.leases {
			h.remove(ctx, p)
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
