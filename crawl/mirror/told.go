package mirror

import (
	"time"

	"github.com/urlget/urlget/crawl"
)

// A told is what a page that a server made of a directory tells of a file. Its zone is not known and
// its size may be rounded, so that it is compared only with what the same page told before.
type told struct {
	Time time.Time `json:"time,omitzero"`
	Size int64     `json:"size,omitempty"` // in bytes; -1 if it is not exact
}

// tellsOf returns what such a page tells of p, zero if none does.
func tellsOf(p *crawl.Page) told {
	if p.Rel != "a" || p.ModTime.IsZero() {
		return told{}
	}
	return told{p.ModTime.UTC(), p.Size}
}

// settled is how much older than the answer a file has to be that nothing is asked for again: its
// time in the page is that of a minute, within which it may have changed once more.
const settled = 2 * time.Minute

// stillTold reports whether a page tells of the file what it told when the file was last asked for,
// so that it is unchanged.
func (v memo) stillTold(now told) bool {
	return now != (told{}) && v.Told == now && v.Path != "" && !v.Validator.ModTime.IsZero() && v.Asked.Sub(v.Validator.ModTime) >= settled
}

// toldSize reports whether a page tells of another size than before.
func (v memo) toldSize(now told) bool {
	return now != (told{}) && v.Told != (told{}) && now.Size >= 0 && v.Told.Size >= 0 && now.Size != v.Told.Size
}
