package replay

// OpenAtMost is Open with another limit for records.
func OpenAtMost(limit int, paths ...string) (*Archive, error) { return open(limit, paths) }

// Remember limits the cached URLs of indexes to n.
func (a *Archive) Remember(n int) { a.maxCached = n }
