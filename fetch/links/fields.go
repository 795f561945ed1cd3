package links

import (
	"iter"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/weblink"
)

// Fields yields the links in the fields Link (RFC 8288) and Refresh of the header of resp. Their relations
// are those of link and meta elements.
func Fields(resp *fetch.Response) iter.Seq[fetch.Entry] {
	return func(yield func(fetch.Entry) bool) {
		for _, field := range resp.Header["Link"] {
			for target, params := range weblink.All(field) {
				rel := linkRelation(params["rel"])
				if _, elsewhere := params["anchor"]; elsewhere || rel == "" {
					continue
				}
				e := entry(resp.URL, target, rel)
				e.ContentType = params["type"]
				if !yield(e) {
					return
				}
			}
		}
		for _, field := range resp.Header["Refresh"] {
			if s, ok := refresh(0, strings.TrimSpace(field)); ok && !yield(entry(resp.URL, s.ref, s.rel)) {
				return
			}
		}
	}
}
