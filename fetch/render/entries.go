package render

import (
	"io"
	"iter"

	"github.com/urlget/urlget/fetch"
)

// entry is the record of one member of a listing.
type entry struct {
	URL         string `json:"url,omitempty"`
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	ContentType string `json:"content_type,omitempty"`
	Size        *int64 `json:"size,omitempty"`
	ModTime     string `json:"mtime,omitempty"`
	Rel         string `json:"rel,omitempty"`
}

// EntriesJSON writes one JSON object a line for each entry, in the same form
// for every protocol: url, name, kind ("object", "listing", "search",
// "session", "text" or "error"), content_type, size in octets, mtime in UTC
// (RFC 3339) and rel. What is unknown is absent. It returns the error that
// entries ended with, or that of w. Each line is one call of w.Write.
func EntriesJSON(w io.Writer, entries iter.Seq2[fetch.Entry, error]) error {
	for e, err := range entries {
		if err != nil {
			return err
		}
		err := writeLine(w, entry{URL: e.URL.Redacted(), Name: e.Name, Kind: e.Kind.String(),
			ContentType: e.ContentType, Size: known(e.Size), ModTime: stamp(e.ModTime), Rel: e.Rel})
		if err != nil {
			return err
		}
	}
	return nil
}
