package mirror

import (
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

type action struct {
	unchanged bool // keep the file without a request
	exists    download.Exists
	known     *download.Known // see download.Options
	ifChanged fetch.Validator // zero for an unconditional request
	compare   bool            // compare a body without a modification time with the file
}

// pageInfo holds the facts about a page that are available before a request, in addition to its
// memos.
type pageInfo struct {
	same     bool            // the file is unchanged since an earlier run saved it
	original string          // path of the unconverted original of a converted page; or ""
	listing  *download.Known // size and time from a listing; nil if unknown
	mayLink  bool            // documents of this type may have links
}

// plan decides how to retrieve a page. Old is the memo of an earlier run. Now has the path of the
// file and the entry of a directory index in this run.
func plan(o *Options, old, now memo, k pageInfo) action {
	a := action{exists: download.Overwrite, compare: o.Newer && now.Path == old.Path}
	switch {
	case o.Keep:
		a.exists = download.Skip
	case old.Page && k.original == "", !o.Newer:
		// Retrieve the page: without the original it cannot be compared.
	case old.ErrorRun > 0:
		// Retrieve the page: the file is not its content.
	case k.same && old.unchangedInIndex(now.Index):
		return action{unchanged: true}
	case old.resizedInIndex(now.Index):
		// The size has changed. Retrieve the page, even if its time has not.
	case now.Index == (indexEntry{}) && !old.Page && k.listing != nil:
		a.exists, a.known = download.Newer, k.listing
	case (k.same || old.Page) && !old.Validator.IsZero():
		a.ifChanged = old.Validator
	case old.Page || old.Type == "" && k.mayLink:
		// Retrieve the page, because its links are unknown.
	default:
		a.exists = download.Newer
	}
	return a
}
