package driver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// serialDial dials a server that serves one connection at a time and greets it after delay.
func (r *rig) serialDial(delay time.Duration) func(context.Context) (*fake, error) {
	accepts := make(chan struct{}, 1)
	accepts <- struct{}{}
	return func(ctx context.Context) (*fake, error) {
		<-accepts
		defer func() { accepts <- struct{}{} }()
		r.mu.Lock()
		for r.open > 0 {
			r.fewer.Wait()
		}
		r.mu.Unlock()
		time.Sleep(delay)
		return r.dial(ctx)
	}
}

func TestIdleConnectionsDoNotBlockSerialServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 4})
		dial := r.serialDial(10 * time.Millisecond)
		start := time.Now()
		leases := make(chan *lease, 3)
		for range 3 {
			go func() {
				l, err := r.pool.Get(t.Context(), "k", nil, dial)
				if err != nil {
					t.Error(err)
				}
				leases <- &l
			}()
		}
		for range 3 {
			(<-leases).Put()
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("three connections took %v", took)
		}
		// Now the pool knows the server.
		a, err := r.pool.Get(t.Context(), "k", nil, dial)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(5 * time.Second)
			a.Put()
		}()
		dials := len(r.all)
		if b, err := r.pool.Get(t.Context(), "k", nil, dial); err != nil || !b.Reused || len(r.all) != dials {
			t.Errorf("got %+v, %v, %d connections; want the first one again", b, err, len(r.all)-dials+1)
		}
		r.pool.CloseIdle()
	})
}

// TestServersAreSerialForAllKeys checks that connections for other hosts behind a proxy, other users and
// other scopes do not block each other.
func TestServersAreSerialForAllKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 4, Server: func(string) any { return "proxy" }})
		dial := r.serialDial(10 * time.Millisecond)
		get := func(key string) *lease {
			l, err := r.pool.Get(t.Context(), key, nil, dial)
			if err != nil {
				t.Fatal(err)
			}
			return &l
		}
		elapsed := func(do func()) time.Duration {
			start := time.Now()
			do()
			return time.Since(start)
		}
		if took := elapsed(func() {
			for _, key := range []string{"a", "b", "c"} {
				get(key).Put()
			}
		}); took > 3*time.Second {
			t.Errorf("the first connections took %v", took)
		}
		if took := elapsed(func() { // now the pool knows the server
			for _, key := range []string{"d", "e", "a", "a"} {
				get(key).Put()
			}
		}); took > 100*time.Millisecond {
			t.Errorf("the next connections took %v", took)
		}
		a := get("a")
		waiting, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := r.pool.Get(waiting, "z", nil, dial)
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; err != context.Canceled {
			t.Errorf("a canceled wait: %v", err)
		}
		order := make(chan string, 2)
		for _, key := range []string{"b", "c"} {
			go func() {
				l := get(key)
				order <- key
				l.Put()
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute) // longer than any server waits for a request
		a.Put()
		if first, second := <-order, <-order; first != "b" || second != "c" {
			t.Errorf("served %s before %s", first, second)
		}
		synctest.Wait()
		r.pool.CloseIdle()
		if r.most != 1 || len(r.pool.hosts) != 0 {
			t.Errorf("%d connections at a time, %d hosts left", r.most, len(r.pool.hosts))
		}
	})
}

// TestServersThatServeAnotherConnectionAreNotSerial checks that slow responses do not make a server serial
// that has responded beside an idle connection.
func TestServersThatServeAnotherConnectionAreNotSerial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 4, Server: func(string) any { return "proxy" }})
		r.get("a").Put()
		r.get("b").Put() // beside a
		for range 3 {
			r.get("a").Put()
			l := r.get("c")
			end := r.pool.await("c")
			time.Sleep(stallDelay + serialDelay/2)
			end(true)
			l.Discard()
		}
		a, b := r.get("a"), r.get("b")
		a.Discard()
		b.Discard()
		r.pool.CloseIdle()
		r.empty()
	})
}

func TestConnectionsOfSlowServersStayConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 4})
		r.get("k").Put()
		l := r.get("k") // reused
		b := r.get("k")
		end := r.pool.await("k")
		l.Put()
		time.Sleep(stallDelay + 2*serialDelay)
		synctest.Wait()
		r.check(1) // the idle connection might have blocked the server
		c := r.get("k")
		c.Put() // nothing stays idle now
		r.check(1)
		time.Sleep(2 * serialDelay)
		end(true)
		d, e := r.get("k"), r.get("k")
		d.Put()
		e.Put()
		b.Put()
		r.check(1, 3, 4)
		r.pool.CloseIdle()
		r.empty()
	})
}

func TestFailedConnectionsProveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleOptions[string, *fake]{MaxIdle: 4})
		r.get("k").Put()
		l := r.get("k")
		end := r.pool.await("k")
		time.Sleep(2 * stallDelay)
		synctest.Wait()
		l.Put() // closed
		end(false)
		c, d := r.get("k"), r.get("k")
		c.Discard()
		d.Discard()
		r.empty()
	})
}
