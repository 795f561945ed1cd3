package http

import (
	"fmt"
	"testing"
)

// TestVerdictsAreBounded checks that a server with many realms cannot fill the memory of refused logins.
func TestVerdictsAreBounded(t *testing.T) {
	t.Parallel()
	var v verdicts
	for i := range 2 * maxVerdicts {
		v.record(claim{realm: fmt.Sprint(i)}, false)
	}
	if n := len(v.accepted); n != maxVerdicts {
		t.Errorf("%d verdicts are remembered", n)
	}
}
