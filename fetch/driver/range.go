package driver

// A Range is a part of a resource, in bytes. Length 0 means up to the end. A negative Offset counts
// from the end: {Offset: -9} is the last nine bytes, or everything if there are fewer; Length must
// then be 0.
type Range struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length,omitempty"`
}

// IsZero reports whether r is the whole resource.
func (r Range) IsZero() bool { return r == Range{} }

// Of returns r relative to the beginning of a resource of size bytes. It returns the zero Range for
// the whole resource.
func (r Range) Of(size int64) Range {
	if r.Offset < 0 {
		return Range{Offset: max(0, size+r.Offset)}
	}
	return r
}
