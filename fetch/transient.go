package fetch

import (
	"errors"
	"time"
)

// Transient reports whether the same request may succeed later, as Error.Retry says, and how long
// the server asked to wait before that. It is the Transient function of a retry.Policy.
func Transient(err error) (after time.Duration, ok bool) {
	var e *Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.RetryAfter, e.Retry
}
