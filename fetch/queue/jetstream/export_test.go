package jetstream

import (
	"context"
	"time"
)

// Messages returns how many messages a stream has.
func (e *Engine) Messages(ctx context.Context, stream string) int {
	s, err := e.js.Stream(ctx, stream)
	if err != nil {
		return -1
	}
	return int(s.CachedInfo().State.Msgs)
}

// SetupWithin bounds how long it may take to make the queue.
func SetupWithin(o *Options, d time.Duration) { o.setup = d }
