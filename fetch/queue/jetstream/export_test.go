package jetstream

import "context"

// Messages returns how many messages a stream has.
func (e *Engine) Messages(ctx context.Context, stream string) int {
	s, err := e.js.Stream(ctx, stream)
	if err != nil {
		return -1
	}
	return int(s.CachedInfo().State.Msgs)
}
