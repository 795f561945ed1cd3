package replay

// OpenAtMost is Open with another limit of records.
func OpenAtMost(limit int, paths ...string) (*Archive, error) { return open(limit, paths) }
