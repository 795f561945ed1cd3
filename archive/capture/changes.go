package capture

import (
	"net/http"
	"slices"
	"time"

	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch/uri"
)

// safe lists the methods that change nothing (RFC 9110, section 9.2.1).
var safe = []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, "PROPFIND",
	"REPORT", "SEARCH", "QUERY", ""}

// changes returns a record for each resource that the request of m may have changed (RFC 9111, section
// 4.4): that of its URL and, of the same origin, those of Location and Content-Location.
func (r *recording) changes(m *message) (list []*warc.Draft) {
	resp := m.answer()
	if resp == nil || resp.StatusCode < 200 || resp.StatusCode > 399 || slices.Contains(safe, m.method()) {
		return nil
	}
	targets := []string{r.target}
	for _, name := range []string{"Location", "Content-Location"} {
		ref, err := uri.ParseRef(resp.Header.Get(name))
		if resp.Header.Get(name) == "" || err != nil {
			continue
		}
		u := r.req.URL.Resolve(ref)
		if u.Origin() == r.req.URL.Origin() && !slices.Contains(targets, record.Target(u)) {
			targets = append(targets, record.Target(u))
		}
	}
	for _, target := range targets {
		h := warc.NewHeader(warc.Metadata, record.TypeChange, target, time.Now())
		list = append(list, &warc.Draft{Header: h, Block: r.w.NewSpool(),
			Index: &warc.IndexEntry{Mime: record.TypeChange}})
	}
	return list
}
