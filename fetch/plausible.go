package fetch

import "time"

// PlausibleTime reports whether t can be the creation or modification time of a resource: between
// the years 1970 and 2200. Servers without a clock and listings in unusual formats yield other
// times, which file systems cannot represent. The client replaces such times from remote servers by
// the zero time in ModTime of [Meta] and [Entry].
func PlausibleTime(t time.Time) bool {
	if t.IsZero() {
		return false
	}
	year := t.UTC().Year()
	return year >= 1970 && year <= 2200
}
