//go:build linux

package bench

import (
	"errors"
	"testing"
	"time"

	"github.com/urlget/urlget/bench/delay"
)

// delayLink creates a link with a delay. It skips the benchmark outside a separate network
// namespace.
func delayLink(b *testing.B, roundTrip time.Duration) {
	b.Helper()
	stop, err := delay.Link(roundTrip)
	if errors.Is(err, delay.ErrNone) {
		b.Skipf("%v: see the comment of the benchmark", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(stop)
}
