package driver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is a connection with a number. It counts calls of Close.
type fake struct {
	id     int
	closed atomic.Int32
	bad    bool
}

type lease = idleLease[string, *fake]

// A rig dials fakes and counts the open ones.
type rig struct {
	t     testing.TB
	pool  *idlePool[string, *fake]
	mu    sync.Mutex
	fewer *sync.Cond // signals that open has decreased
	all   []*fake
	open  int
	most  int
	fails error
}

func newRig(t testing.TB, opts idleOptions[string, *fake]) *rig {
	r := &rig{t: t}
	r.fewer = sync.NewCond(&r.mu)
	opts.Close = func(f *fake) {
		if f.closed.Add(1) != 1 {
			t.Errorf("connection %d closed twice", f.id)
		}
		r.mu.Lock()
		r.open--
		r.fewer.Broadcast()
		r.mu.Unlock()
	}
	if opts.Valid == nil {
		opts.Valid = func(c *fake) bool { return !c.bad }
	}
	r.pool = newIdlePool(opts)
	return r
}

func (r *rig) dial(context.Context) (*fake, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails != nil {
		return nil, r.fails
	}
	f := &fake{id: len(r.all)}
	r.all = append(r.all, f)
	r.open++
	r.most = max(r.most, r.open)
	return f, nil
}

func (r *rig) get(key string) *lease {
	r.t.Helper()
	l, err := r.pool.Get(r.t.Context(), key, nil, r.dial)
	if err != nil {
		r.t.Fatal(err)
	}
	return &l
}

// check compares the numbers of the open connections with want.
func (r *rig) check(want ...int) {
	r.t.Helper()
	var got []int
	for _, f := range r.all {
		if f.closed.Load() == 0 {
			got = append(got, f.id)
		}
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("open connections: %v, want %v", got, want)
	}
}

// empty checks that the pool has no state left.
func (r *rig) empty() {
	r.t.Helper()
	r.check()
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	if len(r.pool.hosts) != 0 || r.pool.idle != 0 || r.pool.timer != nil {
		r.t.Errorf("left in the pool: %d hosts, %d idle, timer %v", len(r.pool.hosts), r.pool.idle, r.pool.timer)
	}
}

func TestReusesMostRecentConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t, idleOptions[string, *fake]{MaxIdle: 4})
	a, b := r.get("k"), r.get("k")
	if a.Reused || b.Reused {
		t.Error("a new connection is called reused")
	}
	a.Put()
	b.Put()
	c := r.get("k")
	if c.Conn != b.Conn || !c.Reused {
		t.Errorf("got connection %d, reused %v", c.Conn.id, c.Reused)
	}
	if d := r.get("other"); d.Reused {
		t.Error("a connection of another key was reused")
	} else {
		d.Discard()
	}
	c.Put()
	r.pool.CloseIdle()
	r.empty()
}

func TestPrefers(t *testing.T) {
	t.Parallel()
	r := newRig(t, idleOptions[string, *fake]{MaxIdle: 4})
	leases := []*lease{r.get("k"), r.get("k"), r.get("k")}
	for _, l := range leases {
		l.Put()
	}
	for _, tt := range []struct{ prefer, want int }{{1, 1}, {99, 2}, {0, 0}} {
		l, err := r.pool.Get(t.Context(), "k", func(c *fake) bool { return c.id == tt.prefer }, r.dial)
		if err != nil || l.Conn.id != tt.want {
			t.Errorf("prefer %d: got %d, %v; want %d", tt.prefer, l.Conn.id, err, tt.want)
		}
	}
}

func TestMaxIdle(t *testing.T) {
	t.Parallel()
	r := newRig(t, idleOptions[string, *fake]{MaxIdle: 2})
	leases := []*lease{r.get("k"), r.get("k"), r.get("k")}
	for _, l := range leases {
		l.Put()
	}
	r.check(1, 2)

	none := newRig(t, idleOptions[string, *fake]{IdleTimeout: time.Hour})
	none.get("k").Put()
	none.empty()
}

func TestInvalidConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, idleOptions[string, *fake]{MaxIdle: 3, MaxOpen: 3})
	leases := []*lease{r.get("k"), r.get("k"), r.get("k")}
	for _, l := range leases {
		l.Put()
	}
	r.all[2].bad, r.all[1].bad = true, true
	if l := r.get("k"); l.Conn.id != 0 {
		t.Errorf("got connection %d", l.Conn.id)
	}
	r.check(0)
	l := r.get("k")
	l.Conn.bad = true
	l.Put()
	if l := r.get("k"); l.Conn.id != 4 || l.Reused {
		t.Errorf("got connection %d, reused %v", l.Conn.id, l.Reused)
	}
	r.check(0, 4)
}

func TestEndingALeaseTwiceHasNoEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t, idleOptions[string, *fake]{MaxIdle: 2, MaxOpen: 2})
	l := r.get("k")
	l.Put()
	l.Put()
	l.Discard()
	r.check(0)
	a, b := r.get("k"), r.get("k")
	if a.Conn == b.Conn {
		t.Error("one connection was leased twice")
	}
	a.Discard()
	a.Discard()
	a.Put()
	b.Discard()
	r.empty()
}

func TestFailedDialReleasesSlot(t *testing.T) {
	t.Parallel()
	r := newRig(t, idleOptions[string, *fake]{MaxOpen: 1})
	r.fails = errors.New("refused")
	if _, err := r.pool.Get(t.Context(), "k", nil, r.dial); err != r.fails {
		t.Errorf("error %v", err)
	}
	func() {
		defer func() { recover() }()
		r.pool.Get(t.Context(), "k", nil, func(context.Context) (*fake, error) { panic("dial") })
	}()
	r.empty()
	r.fails = nil
	r.get("k").Put()
	r.empty()
}

func TestWaitersAreServedInOrder(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*lease){
		"Put":     (*lease).Put,
		"Discard": (*lease).Discard,
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, idleOptions[string, *fake]{MaxIdle: 1, MaxOpen: 1})
				first := r.get("k")
				var order []int
				for i := range 10 {
					go func() {
						l := r.get("k")
						order = append(order, i)
						end(l)
					}()
					synctest.Wait() // let the goroutine join the queue
				}
				end(first)
				synctest.Wait()
				if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(order, want) {
					t.Errorf("order %v", order)
				}
				if r.most != 1 {
					t.Errorf("%d connections at once", r.most)
				}
				r.pool.Close()
				r.empty()
			})
		})
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 1, MaxOpen: 1})
		first := r.get("k")
		why := errors.New("tired")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := r.pool.Get(ctx, "k", nil, r.dial)
			done <- err
		}()
		synctest.Wait()
		second := make(chan *lease, 1)
		go func() { second <- r.get("k") }()
		synctest.Wait()
		cancel(why)
		if err := <-done; err != why {
			t.Errorf("error %v", err)
		}
		if _, err := r.pool.Get(ctx, "k", nil, r.dial); err != why {
			t.Errorf("error of Get with a context that is over: %v", err)
		}
		first.Put()
		if l := <-second; l.Conn != first.Conn {
			t.Error("the next in the queue did not get the connection")
		}
	})
}

// TestGrantOfCanceledWaiterIsPassedOn repeatedly cancels a waiting Get while a lease ends.
func TestGrantOfCanceledWaiterIsPassedOn(t *testing.T) {
	t.Parallel()
	for i := range 500 {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 1, MaxOpen: 1})
		first := r.get("k")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if l, err := r.pool.Get(ctx, "k", nil, r.dial); err == nil {
				l.Put()
			}
		})
		wg.Go(cancel)
		wg.Go(func() {
			if i%2 == 0 {
				first.Put()
			} else {
				first.Discard()
			}
		})
		wg.Wait()
		r.get("k").Discard() // would block forever
		r.empty()
	}
}

// Idle connections closed by the peer are dropped before they expire.
func TestDeadIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 4, MaxOpen: 3, IdleTimeout: time.Minute, ClosedByPeer: func(c *fake) bool { return c.bad }})
		a, b, c, d := r.get("k"), r.get("k"), r.get("k"), r.get("other")
		a.Conn.bad, c.Conn.bad, d.Conn.bad = true, true, true
		a.Put()
		b.Put()
		d.Put()
		time.Sleep(16 * time.Second)
		r.check(1, 2)
		r.get("k")
		r.get("k") // dials a new connection
		r.check(1, 2, 4)
		time.Sleep(time.Minute)
		r.check(1, 2, 4) // all in use
		r.pool.Close()
	})
}

func TestIdleConnectionsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 4, IdleTimeout: time.Minute})
		a, b, c := r.get("k"), r.get("k"), r.get("other")
		a.Put()
		time.Sleep(40 * time.Second)
		b.Put()
		c.Put()
		time.Sleep(21 * time.Second)
		r.check(1, 2)
		l := r.get("k")
		if l.Conn != b.Conn {
			t.Errorf("got connection %d", l.Conn.id)
		}
		time.Sleep(40 * time.Second)
		r.check(1)
		l.Put()
		time.Sleep(61 * time.Second)
		r.empty()
	})
}

func TestGetSkipsExpiredConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 4, MaxOpen: 1, IdleTimeout: time.Minute})
		r.get("k").Put()
		r.pool.timer.Stop() // simulate a late timer
		time.Sleep(time.Hour)
		if l := r.get("k"); l.Reused {
			t.Error("an expired connection was reused")
		}
		r.check(1)
	})
}

// A timer that is set again for each request wakes the thread that waits for the network.
func TestTimerOutlivesTheUseOfAConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 4, IdleTimeout: time.Minute})
		current := func() *time.Timer {
			r.pool.mu.Lock()
			defer r.pool.mu.Unlock()
			return r.pool.timer
		}
		r.get("k").Put()
		timer := current()
		if timer == nil {
			t.Fatal("no timer")
		}
		l := r.get("k")
		if current() != timer {
			t.Error("the timer was stopped for the time of a request")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if current() != nil {
			t.Error("the timer runs on though nothing is idle")
		}
		l.Put()
		r.check(0)
		r.pool.CloseIdle()
		r.empty()
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 2, MaxOpen: 2, IdleTimeout: time.Minute})
		leased, idle := r.get("k"), r.get("k")
		waiting := make(chan error, 1)
		go func() {
			_, err := r.pool.Get(t.Context(), "k", nil, r.dial)
			waiting <- err
		}()
		dialing := make(chan error, 1)
		go func() {
			_, err := r.pool.Get(t.Context(), "slow", nil, func(ctx context.Context) (*fake, error) {
				time.Sleep(time.Second)
				return r.dial(ctx)
			})
			dialing <- err
		}()
		synctest.Wait()
		r.get("other").Put()
		r.pool.Close()
		for name, ch := range map[string]chan error{"waiting": waiting, "dialing": dialing} {
			if err := <-ch; err != errPoolClosed {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if _, err := r.pool.Get(t.Context(), "k", nil, r.dial); err != errPoolClosed {
			t.Errorf("Get after Close: %v", err)
		}
		r.check(0, 1)
		leased.Put()
		idle.Discard()
		r.empty()
		r.pool.Close()
	})
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const limit = 3
	valid := func(*fake) bool { return rand.IntN(10) > 0 }
	t.Run("never more than the limit", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: limit, MaxOpen: limit, Valid: valid})
		r.crowd()
		if r.most > 2*limit { // two keys
			t.Errorf("%d connections at once", r.most)
		}
	})
	t.Run("while connections expire", func(t *testing.T) {
		t.Parallel()
		newRig(t, idleOptions[string, *fake]{MaxIdle: 2, MaxOpen: limit, IdleTimeout: time.Microsecond, Valid: valid}).crowd()
	})
}

// crowd uses the pool from many goroutines, some of which cancel their context, and closes it.
func (r *rig) crowd() {
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 200 {
				ctx, cancel := context.WithCancel(r.t.Context())
				if j%5 == 0 {
					wg.Go(cancel)
				}
				l, err := r.pool.Get(ctx, fmt.Sprint(i%2), nil, r.dial)
				switch {
				case err != nil:
				case j%7 == 0:
					l.Discard()
				default:
					l.Put()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	r.pool.Close()
	r.mu.Lock()
	for r.open > 0 { // the timer may still be closing some
		r.fewer.Wait()
	}
	r.mu.Unlock()
	r.empty()
}
