package fetch

import (
	"errors"
	"time"
)

// Transient reports whether the same request may succeed later, according to Error.Retry, and how
// long the server asked to wait. It can be used as the Transient field of a retry.Policy.
func Transient(err error) (after time.Duration, ok bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return 0, false
	}
	return e.RetryAfter, e.Retry
}
