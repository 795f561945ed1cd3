package crawl

import bolt "go.etcd.io/bbolt"

const (
	// relieveAfter is how many values are read or written before the file's pages are let go of: a
	// single value may bring 16 of them, of 4 KiB.
	relieveAfter = 1000
	// relieveFrom is the size of the file, in bytes, from which on they are.
	relieveFrom = 32 << 20
)

// touched notes that a value of the file was read or written. The file is mapped into memory, and
// all its pages that were ever looked at count as the process's own: without letting go of them it
// would seem to grow as the file does.
func (s *State) touched(tx *bolt.Tx) {
	if s.touches++; s.touches < relieveAfter {
		return
	}
	s.touches = 0
	if size := tx.Size(); size >= relieveFrom {
		unmap(s.db.Info().Data, size)
	}
}
