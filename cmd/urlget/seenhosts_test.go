package main

import (
	"fmt"
	"testing"
)

func TestHostsAreRecheckedPeriodically(t *testing.T) {
	t.Parallel()
	m := &seenHosts{}
	if m.known("h") {
		t.Error("a host is known before it was seen")
	}
	m.add("h")
	known := 0
	for m.known("h") {
		known++
	}
	if known != seenFor || m.known("h") {
		t.Errorf("the host is known for %d transfers, and then again", known)
	}
	for i := range 3 * maxSeenHosts {
		m.add(fmt.Sprint(i))
	}
	if len(m.hosts) > maxSeenHosts {
		t.Errorf("%d hosts are remembered", len(m.hosts))
	}
}
