package mirror

import (
	"reflect"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	var (
		changed   = time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
		validator = fetch.Validator{ModTime: changed, ETag: `"1"`}
		listing   = &download.Known{Size: 5, Validator: fetch.Validator{ModTime: changed}}
		index     = indexEntry{changed, 5}

		nothing   = memo{}
		file      = memo{Path: "a", Type: "text/plain", Validator: validator, Size: 5, Saved: changed}
		blind     = memo{Path: "a", Type: "text/plain", Size: 5, Saved: changed}
		page      = memo{Path: "a", Type: "text/html", Validator: validator, Size: 5, Saved: changed, Page: true}
		blindPage = memo{Path: "a", Type: "text/html", Size: 5, Saved: changed, Page: true}
		indexed   = memo{Path: "a", Type: "text/plain", Validator: validator, Index: index, Requested: changed.Add(time.Hour)}
		fresh     = memo{Path: "a", Type: "text/plain", Validator: validator, Index: index, Requested: changed.Add(time.Second)}

		here     = memo{Path: "a"}
		there    = memo{Path: "a%001"}
		hereTold = memo{Path: "a", Index: index}
		grown    = memo{Path: "a", Index: indexEntry{changed, 6}}
		rounded  = memo{Path: "a", Index: indexEntry{changed, -1}}

		plain = Options{}
		keep  = Options{Keep: true}
		both  = Options{Keep: true, Newer: true}
		newer = Options{Newer: true}

		overwrite = action{exists: download.Overwrite}
		replace   = action{exists: download.Overwrite, compare: true}
		ask       = action{exists: download.Overwrite, compare: true, ifChanged: validator}
		compare   = action{exists: download.Newer, compare: true}
	)
	tests := []struct {
		name     string
		opts     Options
		old, now memo
		known    knowledge
		want     action
	}{
		{"a first mirror", plain, nothing, here, knowledge{}, overwrite},
		{"a mirror that is made again", plain, file, here, knowledge{same: true, listing: listing}, overwrite},
		{"a listing without -N", plain, indexed, hereTold, knowledge{same: true}, overwrite},
		{"keep", keep, nothing, here, knowledge{}, action{exists: download.Skip}},
		{"keep a page that was converted", keep, page, here, knowledge{}, action{exists: download.Skip}},
		{"keep, with -N", both, indexed, hereTold, knowledge{same: true}, action{exists: download.Skip, compare: true}},

		{"a first mirror with -N", newer, nothing, here, knowledge{}, action{exists: download.Newer}},
		{"a file of the name that nobody remembers", newer, nothing, here, knowledge{mayLink: true}, overwrite},
		{"one that has no links", newer, nothing, here, knowledge{}, action{exists: download.Newer}},
		{"an unchanged file", newer, file, here, knowledge{same: true}, ask},
		{"an unchanged file that may have links", newer, file, here, knowledge{same: true, mayLink: true}, ask},
		{"a file that was changed here", newer, file, here, knowledge{}, compare},
		{"a file without a validator", newer, blind, here, knowledge{same: true}, compare},
		{"a file under another name", newer, file, there, knowledge{same: true}, action{exists: download.Overwrite, ifChanged: validator}},

		{"a file in a listing", newer, file, here, knowledge{same: true, listing: listing}, action{exists: download.Newer, known: listing, compare: true}},
		{"a new file in a listing", newer, nothing, here, knowledge{listing: listing, mayLink: true}, action{exists: download.Newer, known: listing}},
		{"a page in a listing", newer, page, here, knowledge{original: "a.orig", listing: listing}, ask},

		{"an index page that says the same", newer, indexed, hereTold, knowledge{same: true}, action{unchanged: true}},
		{"an index page that says the same of a file changed here", newer, indexed, hereTold, knowledge{}, compare},
		{"an index page of too young a file", newer, fresh, hereTold, knowledge{same: true}, ask},
		{"an index page with another size", newer, indexed, grown, knowledge{same: true}, replace},
		{"an index page with a rounded size", newer, indexed, rounded, knowledge{same: true}, ask},
		{"an index page with a size and time as in a listing", newer, file, hereTold, knowledge{same: true, listing: listing}, ask},

		{"a converted page without its original", newer, page, here, knowledge{same: true}, replace},
		{"a converted page with its original", newer, page, here, knowledge{original: "a.orig"}, ask},
		{"a converted page without a validator", newer, blindPage, here, knowledge{original: "a.orig"}, replace},
	}
	for _, tt := range tests {
		if got := plan(&tt.opts, tt.old, tt.now, tt.known); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
