package driver

import (
	"context"

	"github.com/urlget/urlget/fetch"
)

// Line returns the function that records the lines of the exchange of ctx, for drivers without a
// [fetch.Conn], or nil if they are not recorded. Secrets in the lines must be masked.
func Line(ctx context.Context) func(sent bool, line string) {
	if r := fetch.RecordingOf(ctx); r != nil {
		return r.Line
	}
	return nil
}
