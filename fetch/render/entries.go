package render

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/urlget/urlget/fetch"
)

// entry is the record of one member of a listing.
type entry struct {
	Event       string `json:"event"`
	URL         string `json:"url"`
	Time        string `json:"time"`
	Listing     string `json:"listing"`
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	ContentType string `json:"content_type,omitempty"`
	Size        *int64 `json:"size,omitempty"`
	ModTime     string `json:"mtime,omitempty"`
	Rel         string `json:"rel,omitempty"`
}

// EntriesJSON writes one JSON object a line for each entry of the listing at a URL, in the same
// form for every protocol: event ("entry"), url, "" for text that leads nowhere, time, listing,
// name, kind ("object", "listing", "search", "session", "text" or "error"), content_type, size in
// bytes, mtime in UTC (RFC 3339) and rel. What is unknown is absent. What a protocol has besides,
// such as the score of a hit or the author of an article, is an object under the name of the
// driver: "wais", "nntp". It returns the error that entries ended with, or that of w.
// Each line is one call of w.Write.
func EntriesJSON(w io.Writer, listing string, entries iter.Seq2[fetch.Entry, error]) error {
	now := stamp(time.Now())
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := WriteJSON(w, record(e, listing, now)); err != nil {
			return err
		}
	}
	return nil
}

// record is an entry in the form that all protocols share, and the driver's record beside it.
func record(e fetch.Entry, listing, now string) any {
	shared := entry{Event: "entry", URL: e.URL.Redacted(), Time: now, Listing: listing, Name: e.Name, Kind: e.Kind.String(),
		ContentType: e.ContentType, Size: known(e.Size), ModTime: stamp(e.ModTime), Rel: e.Rel}
	facts := e.Facts()
	if facts.Driver == "" {
		return shared
	}
	own, err := encode(facts)
	if err != nil {
		return shared // a fact of an outside driver that cannot be encoded
	}
	text, err := encode(shared)
	if err != nil {
		return shared
	}
	return json.RawMessage(fmt.Appendf(text[:len(text)-1], ",%q:%s}", facts.Driver, own))
}
