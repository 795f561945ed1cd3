package mirror

import (
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// An action is how a page is retrieved.
type action struct {
	unchanged bool // the file is the page; nothing is requested
	exists    download.Exists
	known     *download.Known // see download.Options
	ifChanged fetch.Validator // zero for an unconditional request
	compare   bool            // a body without a time is compared with the file
}

// knowledge is what is known of a page before it is requested, besides its memos.
type knowledge struct {
	same     bool            // the file is the one that an earlier run saved, and nobody has changed it
	original string          // the file with the response of a page whose links were converted; or ""
	listing  *download.Known // the size and time in a listing; nil if it has none
	mayLink  bool            // documents like this may have links
}

// plan decides how to retrieve a page. Old is what an earlier run remembers of it, and now what is
// known in this run: the path of its file, and what a page of its directory says.
func plan(o *Options, old, now memo, k knowledge) action {
	a := action{exists: download.Overwrite, compare: o.Newer && now.Path == old.Path}
	switch {
	case o.Keep:
		a.exists = download.Skip
	case old.Page && k.original == "", !o.Newer:
		// The original alone could be compared with the page.
	case k.same && old.stillTold(now.Told):
		return action{unchanged: true}
	case old.toldSize(now.Told):
		// It has changed, whatever the server makes of times.
	case now.Told == (told{}) && !old.Page && k.listing != nil:
		a.exists, a.known = download.Newer, k.listing
	case (k.same || old.Page) && !old.Validator.IsZero():
		a.ifChanged = old.Validator
	case old.Page || old.Type == "" && k.mayLink:
		// Its links would not be known.
	default:
		a.exists = download.Newer
	}
	return a
}
