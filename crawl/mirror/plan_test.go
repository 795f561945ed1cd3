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

		noMemo          = memo{}
		file            = memo{Path: "a", Type: "text/plain", Validator: validator, Size: 5, Saved: changed}
		noValidator     = memo{Path: "a", Type: "text/plain", Size: 5, Saved: changed}
		page            = memo{Path: "a", Type: "text/html", Validator: validator, Size: 5, Saved: changed, Page: true}
		pageNoValidator = memo{Path: "a", Type: "text/html", Size: 5, Saved: changed, Page: true}
		indexed         = memo{Path: "a", Type: "text/plain", Validator: validator, Index: index, Requested: changed.Add(time.Hour)}
		fresh           = memo{Path: "a", Type: "text/plain", Validator: validator, Index: index, Requested: changed.Add(time.Second)}

		samePath  = memo{Path: "a"}
		otherPath = memo{Path: "a%001"}
		inIndex   = memo{Path: "a", Index: index}
		grown     = memo{Path: "a", Index: indexEntry{changed, 6}}
		rounded   = memo{Path: "a", Index: indexEntry{changed, -1}}

		plain     = Options{}
		keep      = Options{Keep: true}
		keepNewer = Options{Keep: true, Newer: true}
		newer     = Options{Newer: true}

		overwrite   = action{exists: download.Overwrite}
		replace     = action{exists: download.Overwrite, compare: true}
		conditional = action{exists: download.Overwrite, compare: true, ifChanged: validator}
		compare     = action{exists: download.Newer, compare: true}
	)
	tests := []struct {
		name     string
		opts     Options
		old, now memo
		known    pageInfo
		want     action
	}{
		{"a first mirror", plain, noMemo, samePath, pageInfo{}, overwrite},
		{"a second mirror", plain, file, samePath, pageInfo{same: true, listing: listing}, overwrite},
		{"a listing without -N", plain, indexed, inIndex, pageInfo{same: true}, overwrite},
		{"keep", keep, noMemo, samePath, pageInfo{}, action{exists: download.Skip}},
		{"keep a converted page", keep, page, samePath, pageInfo{}, action{exists: download.Skip}},
		{"keep, with -N", keepNewer, indexed, inIndex, pageInfo{same: true}, action{exists: download.Skip, compare: true}},

		{"a first mirror with -N", newer, noMemo, samePath, pageInfo{}, action{exists: download.Newer}},
		{"an existing file without state, may have links", newer, noMemo, samePath, pageInfo{mayLink: true}, overwrite},
		{"an existing file without state or links", newer, noMemo, samePath, pageInfo{}, action{exists: download.Newer}},
		{"an unchanged file", newer, file, samePath, pageInfo{same: true}, conditional},
		{"an unchanged file that may have links", newer, file, samePath, pageInfo{same: true, mayLink: true}, conditional},
		{"a locally changed file", newer, file, samePath, pageInfo{}, compare},
		{"a file without a validator", newer, noValidator, samePath, pageInfo{same: true}, compare},
		{"a file under another name", newer, file, otherPath, pageInfo{same: true}, action{exists: download.Overwrite, ifChanged: validator}},

		{"a file in a listing", newer, file, samePath, pageInfo{same: true, listing: listing}, action{exists: download.Newer, known: listing, compare: true}},
		{"a new file in a listing", newer, noMemo, samePath, pageInfo{listing: listing, mayLink: true}, action{exists: download.Newer, known: listing}},
		{"a page in a listing", newer, page, samePath, pageInfo{original: "a.orig", listing: listing}, conditional},

		{"an unchanged index entry", newer, indexed, inIndex, pageInfo{same: true}, action{unchanged: true}},
		{"an unchanged index entry of a locally changed file", newer, indexed, inIndex, pageInfo{}, compare},
		{"an unchanged index entry of a recent file", newer, fresh, inIndex, pageInfo{same: true}, conditional},
		{"an index entry with another size", newer, indexed, grown, pageInfo{same: true}, replace},
		{"an index entry with a rounded size", newer, indexed, rounded, pageInfo{same: true}, conditional},
		{"an index entry and a listing", newer, file, inIndex, pageInfo{same: true, listing: listing}, conditional},

		{"a converted page without its original", newer, page, samePath, pageInfo{same: true}, replace},
		{"a converted page with its original", newer, page, samePath, pageInfo{original: "a.orig"}, conditional},
		{"a converted page without a validator", newer, pageNoValidator, samePath, pageInfo{original: "a.orig"}, replace},
	}
	for _, tt := range tests {
		if got := plan(&tt.opts, tt.old, tt.now, tt.known); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
