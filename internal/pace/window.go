package pace

import (
	"context"
	"time"

	"github.com/urlget/urlget/fetch/driver/wire"
)

// A Window measures the rate of the content of a resource. It spans all attempts of a transfer, so
// that a peer cannot begin anew with each connection. Not safe for concurrent use.
type Window struct {
	got    int64         // bytes
	waited time.Duration // for the peer
	slow   bool          // Add has returned an error, and the rate has not been reached since
}

// Add records that n bytes arrived after a wait of d. It returns an error if less than rate bytes
// per second arrived for the given time.
func (w *Window) Add(n int64, d time.Duration, rate int64, over time.Duration) error {
	w.got, w.waited = w.got+n, w.waited+d
	switch got := w.got; {
	case float64(got) >= float64(rate)*over.Seconds():
		*w = Window{}
	case w.waited >= over:
		*w = Window{slow: true}
		return &wire.TimeoutError{Op: "read", Idle: over, Rate: rate, Received: got}
	}
	return nil
}

// Waited returns the time that the window has lasted.
func (w *Window) Waited() time.Duration { return w.waited }

// Slow reports whether Add has returned an error and the rate has not been reached since.
func (w *Window) Slow() bool { return w.slow }

type windowKey struct{}

// WithWindow returns a context whose exchanges share w. Their bodies must not be read concurrently.
// If w is nil, each exchange has its own.
func WithWindow(ctx context.Context, w *Window) context.Context {
	return context.WithValue(ctx, windowKey{}, w)
}

// WindowOf returns the window that the exchanges of ctx share, or a new one.
func WindowOf(ctx context.Context) *Window {
	if w, _ := ctx.Value(windowKey{}).(*Window); w != nil {
		return w
	}
	return new(Window)
}
