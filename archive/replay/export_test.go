package replay

// OpenAtMost is Open with another limit of records.
func OpenAtMost(limit int, paths ...string) (*Archive, error) { return open(limit, paths) }

// Remember sets how many URLs of indexes are remembered.
func (a *Archive) Remember(n int) { a.maxCached = n }
