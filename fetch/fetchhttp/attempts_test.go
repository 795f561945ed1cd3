package fetchhttp

import (
	"fmt"
	"testing"
	"time"
)

// Each wrong login of an address doubles the wait for the next one. Other addresses do not wait, and few
// are remembered.
func TestWrongLoginsMakeTheNextWait(t *testing.T) {
	t.Parallel()
	var a attempts
	now := time.Now()
	mallory, ada := network("203.0.113.5:1"), network("203.0.113.6:1")
	for i, want := range []time.Duration{0, 250, 500, 1000, 2000, 4000, 8000, 8000} {
		want *= time.Millisecond
		if got := a.begin(mallory, now); got != want {
			t.Errorf("login %d waits %v, want %v", i, got, want)
		}
		if got := a.begin(ada, now); got != 0 {
			t.Errorf("another address waits %v", got)
		}
		a.succeeded(ada)
		now = now.Add(want)
	}
	for range 4 { // at once: one after the other, and then none
		a.begin(mallory, now)
	}
	if got, again := a.begin(mallory, now), a.begin(mallory, now); got <= maxTurn || again != got {
		t.Errorf("logins at once wait %v and %v", got, again)
	}
	if got := a.begin(mallory, now.Add(forgetTime+time.Minute)); got != 0 {
		t.Errorf("after a long time, the wait is %v", got)
	}
	for i := range 2 * maxAttempts {
		a.begin(network(fmt.Sprintf("10.%d.%d.1:1", i>>8, i&0xff)), now)
	}
	if len(a.from) > maxAttempts {
		t.Errorf("%d addresses are remembered", len(a.from))
	}
}

func TestNetworkOfAClient(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"203.0.113.5:80": "203.0.113.5/32", "[::ffff:203.0.113.5]:80": "203.0.113.5/32", "[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80": "fe80::/64", "": "invalid Prefix",
	} {
		if got := network(address).String(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
