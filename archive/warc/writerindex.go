package warc

import (
	"path/filepath"
	"slices"
	"strings"
)

// endIndex says that the index has all that is in the file.
func (w *Writer) endIndex() error {
	if w.index == nil || w.err != nil {
		return nil
	}
	lines := w.endCopied(nil)
	if w.covered {
		lines = coverage{filepath.Base(w.name()), w.size}.appendTo(lines)
	}
	_, err := w.index.Write(lines)
	return err
}

// note writes the lines of records that begin at places into the index.
func (w *Writer) note(list []*Draft, places []int64) error {
	requests := make(map[string]int64)
	for i, d := range list {
		if d.Header.Type() == Request {
			requests[d.Header.Get("WARC-Concurrent-To")] = places[i]
		}
	}
	var lines []byte
	for i, d := range list {
		if d.Copied {
			lines = w.noteCopied(lines, d, places[i], places[i+1])
		}
		if d.Index == nil {
			continue
		}
		e := *d.Index
		e.URL, e.Date, e.File = d.Header.TargetURI(), d.Header.Date(), filepath.Base(w.name())
		e.Offset, e.Length, e.Request = places[i], places[i+1]-places[i], requests[d.Header.Get("WARC-Record-ID")]
		lines = e.AppendTo(lines)
	}
	_, err := w.index.Write(lines)
	return err
}

// noteCopied appends the lines of records of other archives whose request will not follow any more,
// and takes one more, which lies between two places.
func (w *Writer) noteCopied(lines []byte, d *Draft, from, to int64) []byte {
	if w.copied == nil {
		w.copied = newIndexer(filepath.Base(w.name()))
	}
	rec := &Record{Header: slices.Clone(d.Header), Offset: from, Block: strings.NewReader("")}
	for i, f := range rec.Header {
		rec.Header[i].Value = strings.TrimSpace(oneLine(f.Value)) // as a reader finds it
	}
	if d.Block != nil {
		rec.Block = d.Block.Reader(0)
	}
	w.copied.take(rec)
	w.copied.ends(to)
	w.copied.flush(maxApart, func(e IndexEntry) error { // which does not fail
		lines = e.AppendTo(lines)
		return nil
	})
	return lines
}

// endCopied appends the lines of records of other archives that are still held.
func (w *Writer) endCopied(lines []byte) []byte {
	if w.copied != nil {
		w.copied.flush(0, func(e IndexEntry) error { // which does not fail
			lines = e.AppendTo(lines)
			return nil
		})
		w.copied = nil
	}
	return lines
}

// goesOn reports whether records of another archive belong to the exchange that was written last: a
// reader of one file would not know what was asked for.
func (w *Writer) goesOn(list []*Draft) bool {
	if w.last == nil || len(list) == 0 || !list[0].Copied {
		return false
	}
	h := list[0].Header
	return h.TargetURI() != "" && h.TargetURI() == w.last.TargetURI() && h.Get("WARC-Date") == w.last.Get("WARC-Date")
}
