package mirror

import (
	"time"

	"github.com/urlget/urlget/crawl"
)

// An indexEntry is the time and size that a server-generated directory index shows for a file. The
// time zone is unknown and the size may be rounded, so it is only compared with an earlier value
// from the same index.
type indexEntry struct {
	Time time.Time `json:"time,omitzero"`
	Size int64     `json:"size,omitempty"` // in bytes; -1 if rounded
}

// indexEntryOf returns the values that a directory index shows for p, or zero if there is no index.
func indexEntryOf(p *crawl.Page) indexEntry {
	if p.Rel != "a" || p.ModTime.IsZero() {
		return indexEntry{}
	}
	return indexEntry{p.ModTime.UTC(), p.Size}
}

// minFileAge is the minimum age that a file must have had when it was last requested. The times in
// an index are in minutes, and a younger file could change again within the same minute.
const minFileAge = 2 * time.Minute

// unchangedInIndex reports whether the index shows the same values as when the file was last
// requested, so that the file is unchanged.
func (v memo) unchangedInIndex(now indexEntry) bool {
	return now != (indexEntry{}) && v.Index == now && v.Path != "" && !v.Validator.ModTime.IsZero() &&
		v.Requested.Sub(v.Validator.ModTime) >= minFileAge
}

func (v memo) resizedInIndex(now indexEntry) bool {
	return now != (indexEntry{}) && v.Index != (indexEntry{}) && now.Size >= 0 && v.Index.Size >= 0 &&
		now.Size != v.Index.Size
}
