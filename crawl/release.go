package crawl

import bolt "go.etcd.io/bbolt"

const (
	// releaseAfter is the number of accesses between two releases. A single access can map 16 pages
	// of 4 KiB.
	releaseAfter = 1000
	// releaseMinSize is the minimum file size, in bytes, for releasing pages.
	releaseMinSize = 32 << 20
)

// countAccess counts accesses to the file and regularly releases its memory-mapped pages. Every
// page that was read counts as memory of the process, which would otherwise seem to grow with the
// file.
func (s *State) countAccess(tx *bolt.Tx) {
	if s.accesses++; s.accesses < releaseAfter {
		return
	}
	s.accesses = 0
	if size := tx.Size(); size >= releaseMinSize {
		unmap(s.db.Info().Data, size)
	}
}
