package replay

// ErrTooMany is wrapped by the error of Open for too many records.
var ErrTooMany = errTooMany

// OpenLimit is Open with another limit for records.
func OpenLimit(limit int, paths ...string) (*Archive, error) { return open(limit, paths) }

// SetMaxCached limits the cached URLs of indexes to n.
func (a *Archive) SetMaxCached(n int) { a.maxCached = n }
