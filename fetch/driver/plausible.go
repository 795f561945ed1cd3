package driver

import "time"

// PlausibleTime reports whether a resource can have been created or modified at t: between the
// years 1970 and 2200. Servers without a clock and listings in odd formats report other times,
// which file systems cannot represent. The client drops such times from what remote servers report:
// the ModTime of [Meta] and [Entry] is then zero.
func PlausibleTime(t time.Time) bool {
	if t.IsZero() {
		return false
	}
	year := t.UTC().Year()
	return year >= 1970 && year <= 2200
}
