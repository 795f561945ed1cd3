// Package render writes listings for people, as aligned text, and for
// programs, with what is known of resources and transfers, as JSON Lines.
package render

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/urlget/urlget/fetch"
)

// writeLine writes v to w as one line of JSON, in one call of Write.
func writeLine(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// known returns a size as it stands in a record, where an unknown one is
// absent.
func known(size int64) *int64 {
	if size < 0 {
		return nil
	}
	return &size
}

// stamp returns a time as it stands in a record, absent if it is zero.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// said returns a reply as it stands in a record.
func said(r fetch.Reply) string {
	if r.IsZero() {
		return ""
	}
	return r.String()
}
