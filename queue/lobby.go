package queue

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/urlget/urlget/crawl/schedule"
)

// A lobby is where jobs wait whose host has no place for them now, while others go on. They stay in
// the hands of this worker: to give one back and to have it again costs more than to do it. Only the
// goroutine that calls Next uses it, but for what says so.
type lobby struct {
	parties []*party      // the one that a job was taken of last at the end
	n       int           // jobs
	bytes   int           // of their messages
	putOff  time.Time     // when a job went back last
	pause   time.Duration // until the next one may
	resume  time.Time     // when the engine is asked again after it failed
	wait    time.Duration // for how long after the next failure

	fetching bool
	arrivals chan arrival  // what the engine was asked for
	wake     chan struct{} // holds a value when something may begin that could not before
	asks     int           // that are under way; guarded by the run's mu
}

// A party is the jobs of one host that wait.
type party struct {
	host  string
	tasks []*task

	// Guarded by the run's mu:
	asking  bool      // for a place
	blocked bool      // there was none
	next    time.Time // when to ask again
	wait    time.Duration
}

// An arrival is what Engine.Next returned. The task is in hand already: the scheduler may not ask for
// it for a while.
type arrival struct {
	*task
	err error
}

const (
	// lobbyJobs is how many jobs may wait for each that may run, and lobbyBytes how long all of them
	// may be.
	lobbyJobs  = 32
	lobbyBytes = 16 << 20
	// lobbyAhead is for what time there are jobs here that may begin, so that the places at hosts
	// that jobs leave have others to be used by.
	lobbyAhead = 250 * time.Millisecond
	// lobbyFor is for how long a job waits until it goes back, for other workers.
	lobbyFor = 10 * time.Second
	// putOffEvery is how often a job of a full lobby goes back in favour of one that comes, and
	// putOffSeldom if those that come cannot begin either.
	putOffEvery  = 20 * time.Millisecond
	putOffSeldom = 100 * time.Millisecond
	// firstAsk and lastAsk bound the pauses between two attempts to have a place at a host.
	firstAsk = 20 * time.Millisecond
	lastAsk  = 250 * time.Millisecond
)

func newLobby() *lobby {
	return &lobby{arrivals: make(chan arrival, 1), wake: make(chan struct{}, 1), wait: 100 * time.Millisecond, pause: putOffEvery}
}

// look lets Next look again.
func (l *lobby) look() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Next implements schedule.Source: it takes a job from the queue, or from those that wait.
func (r *run) Next(_ context.Context, room func(string) bool) (schedule.Task, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if !r.goes() {
			r.leave()
			return schedule.Task{}, errEnd
		}
		t, ready := r.pick(room)
		if t != nil {
			return r.schedule(t), nil
		}
		if !ready {
			r.ask()
		}
		timer.Reset(time.Until(r.invite()))
		select {
		case a := <-r.lobby.arrivals:
			r.lobby.fetching = false
			t, err := r.enter(a)
			if err != nil {
				return schedule.Task{}, err
			}
			if t != nil {
				return r.schedule(t), nil
			}
		case <-r.lobby.wake:
		case <-timer.C:
		case <-r.soft.Done():
		}
	}
}

// enter takes in what the engine had. A job that needs no place is returned.
func (r *run) enter(a arrival) (*task, error) {
	l := r.lobby
	switch {
	case r.soft.Err() != nil:
		if a.err == nil {
			a.giveBack(0)
		}
		return nil, nil
	case errors.Is(a.err, ErrClosed):
		return nil, a.err
	case a.err != nil:
		r.Metrics.trouble()
		r.Logger.Warn("no jobs can be taken", "error", a.err)
		l.resume = time.Now().Add(l.wait/2 + rand.N(l.wait))
		l.wait = min(2*l.wait, 5*time.Second)
		return nil, nil
	}
	l.wait = 100 * time.Millisecond
	r.Metrics.taken()
	t := a.task
	if t.wrong != nil || t.host == "" {
		return t, nil
	}
	t.came = time.Now()
	l.n++
	l.bytes += len(t.delivery.Data())
	for _, p := range l.parties {
		if p.host == t.host {
			p.tasks = append(p.tasks, t)
			return nil, nil
		}
	}
	l.pause = putOffEvery
	l.parties = append(l.parties, &party{host: t.host, tasks: []*task{t}})
	return nil, nil
}

// remove takes the job out of the lobby that waits at a place of a party.
func (l *lobby) remove(i, k int) *task {
	p := l.parties[i]
	t := p.tasks[k]
	p.tasks = append(p.tasks[:k:k], p.tasks[k+1:]...)
	l.n--
	l.bytes -= len(t.delivery.Data())
	l.parties = append(l.parties[:i:i], l.parties[i+1:]...)
	if len(p.tasks) > 0 {
		l.parties = append(l.parties, p)
	}
	return t
}

// rests reports whether a host is to be left alone: it said so, or it was busy so often that this
// worker leaves it alone for longer. What waits for it in the scheduler would keep others from it.
func (r *run) rests(host string) bool {
	return r.pauses.known(host) || r.sched.Rests(host).After(time.Now())
}

// pick returns a job whose host has a place for it. Else it reports whether there are some that only
// wait for the scheduler.
func (r *run) pick(room func(string) bool) (t *task, ready bool) {
	for i, p := range r.lobby.parties {
		spare, used := r.hosts.count(p.host)
		if used >= r.Parallel {
			spare++ // whatever ends leaves a place to the one that comes next
		}
		if r.rests(p.host) || spare <= r.onTheWay(p.host) {
			continue
		}
		ready = true
		if !room(p.host) {
			continue
		}
		r.mu.Lock()
		p.blocked, p.wait = false, 0
		r.mu.Unlock()
		return r.lobby.remove(i, 0), true
	}
	return nil, ready
}

// onTheWay returns how many jobs of a host were handed out and have no place yet.
func (r *run) onTheWay(host string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handed[host]
}

// ask asks for places at hosts whose jobs wait, a few at a time.
func (r *run) ask() {
	now := time.Now()
	for _, p := range r.lobby.parties {
		if r.rests(p.host) {
			continue
		}
		r.mu.Lock()
		begin := !p.asking && !now.Before(p.next) && r.lobby.asks+len(r.handed)+int(r.slots.Load()) < r.Parallel
		if begin {
			p.asking = true
			r.lobby.asks++
		}
		r.mu.Unlock()
		if begin {
			r.askers.Go(func() { r.askFor(p) })
		}
	}
}

func (r *run) askFor(p *party) {
	ctx, cancel := context.WithTimeout(r.soft, operation)
	defer cancel()
	there := r.hosts.reserve(ctx, p.host)
	r.mu.Lock()
	r.lobby.asks--
	p.asking, p.blocked = false, !there
	p.wait = min(max(2*p.wait, firstAsk), lastAsk)
	p.next = time.Now().Add(p.wait/2 + rand.N(p.wait))
	r.mu.Unlock()
	r.lobby.look()
}

// invite asks the engine for a job if one is wanted, and returns when to look again at the latest.
func (r *run) invite() time.Time {
	l, now := r.lobby, time.Now()
	later := now.Add(time.Second)
	open, most := 0, 0 // jobs that may begin soon; the party that is greatest, of those that may not
	for i := 0; i < len(l.parties); i++ {
		p := l.parties[i]
		r.mu.Lock()
		blocked := p.blocked
		if p.next.After(now) && p.next.Before(later) {
			later = p.next
		}
		r.mu.Unlock()
		blocked = blocked || r.rests(p.host)
		switch {
		case blocked && now.Sub(p.tasks[0].came) > lobbyFor:
			r.putOff(l.remove(i, 0))
			i--
		case !blocked:
			open += len(p.tasks)
		case len(l.parties[most].tasks) < len(p.tasks):
			most = i
		}
	}
	switch {
	case l.fetching || open >= max(r.Parallel, 2, min(r.pace.within(lobbyAhead), lobbyJobs*r.Parallel/2)):
		return later
	case now.Before(l.resume):
		return earlier(later, l.resume)
	case l.n >= lobbyJobs*r.Parallel || l.bytes >= lobbyBytes:
		if next := l.putOff.Add(l.pause); now.Before(next) {
			return earlier(later, next)
		}
		l.putOff, l.pause = now, min(2*l.pause, putOffSeldom)
		most = min(most, len(l.parties)-1)
		r.putOff(l.remove(most, len(l.parties[most].tasks)-1))
	}
	l.fetching = true
	r.askers.Go(func() {
		a := arrival{}
		d, err := r.Engine.Next(r.soft)
		if a.err = err; err == nil {
			a.task = r.receive(d)
		}
		l.arrivals <- a
	})
	return later
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// leave gives back what waits.
func (r *run) leave() {
	l := r.lobby
	for len(l.parties) > 0 {
		l.remove(0, 0).giveBack(0)
	}
	if l.fetching {
		if a := <-l.arrivals; a.err == nil {
			a.giveBack(0)
		}
		l.fetching = false
	} else if d, err := r.Engine.Next(r.soft); err == nil { // which lets the engine know
		d.Return(0)
	}
}

// A pace is how fast jobs end.
type pace struct {
	mu    sync.Mutex
	since time.Time
	n     int
	rate  float64 // a second
}

// ended counts a job.
func (p *pace) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	p.tell(time.Now())
}

// paceOver is for what time jobs are counted.
const paceOver = time.Second

func (p *pace) tell(now time.Time) {
	if took := now.Sub(p.since); took >= paceOver {
		p.rate = float64(p.n) / took.Seconds()
		p.n, p.since = 0, now
	}
}

// within returns how many jobs end within a time.
func (p *pace) within(d time.Duration) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell(time.Now())
	return int(p.rate * d.Seconds())
}

// errEnd is that of a schedule.Source without more tasks.
var errEnd = io.EOF
