package render

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/urlget/urlget/fetch"
)

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

// EntriesJSON writes one JSON object per line for each entry of the listing at a URL, in the same
// format for every protocol: event ("entry"), url ("" for text without a link), time, listing,
// name, kind ("object", "listing", "search", "session", "text" or "error"), content_type, size in
// bytes, mtime in UTC (RFC 3339) and rel. Unknown values are omitted. Other facts of a protocol, such
// as the score of a hit or the author of an article, are in an object named after the driver: "wais",
// "nntp". EntriesJSON returns the error of the entries, or that of w.
// Each line is one call of w.Write.
func EntriesJSON(w io.Writer, listing string, entries iter.Seq2[fetch.Entry, error]) error {
	now := timeText(time.Now())
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

func record(e fetch.Entry, listing, now string) any {
	shared := entry{
		Event: "entry", URL: e.URL.Redacted(), Time: now,
		Listing: listing, Name: e.Name, Kind: e.Kind.String(), ContentType: e.ContentType,
		Size: sizePtr(e.Size), ModTime: timeText(e.ModTime), Rel: e.Rel,
	}
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
