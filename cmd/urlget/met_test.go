package main

import (
	"fmt"
	"testing"
)

func TestHostsAreLookedAtNowAndThen(t *testing.T) {
	t.Parallel()
	m := &met{}
	if m.known("h") {
		t.Error("a host is known before it was met")
	}
	m.add("h")
	known := 0
	for m.known("h") {
		known++
	}
	if known != metFor || m.known("h") {
		t.Errorf("the host is known for %d transfers, and then again", known)
	}
	for i := range 3 * maxMet {
		m.add(fmt.Sprint(i))
	}
	if len(m.hosts) > maxMet {
		t.Errorf("%d hosts are remembered", len(m.hosts))
	}
}
