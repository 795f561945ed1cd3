package queue

// WithNames lets a store make only files that have names.
func WithNames(d *Dir) { d.nameless = false }
