package main

import (
	"fmt"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

func TestHostsAreRecheckedPeriodically(t *testing.T) {
	t.Parallel()
	m, h := &seenHosts{}, uri.MustParse("http://h/").Origin()
	if m.known(h) {
		t.Error("a host is known before it was seen")
	}
	m.add(h)
	known := 0
	for m.known(h) {
		known++
	}
	if known != seenFor || m.known(h) {
		t.Errorf("the host is known for %d transfers, and then again", known)
	}
	for i := range 3 * maxSeenHosts {
		m.add(uri.MustParse(fmt.Sprintf("http://h%d/", i)).Origin())
	}
	if len(m.hosts) > maxSeenHosts {
		t.Errorf("%d hosts are remembered", len(m.hosts))
	}
}
