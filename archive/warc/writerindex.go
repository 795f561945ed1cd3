package warc

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
)

func (w *Writer) continueIndex() error {
	size, err := Covered(w.index, filepath.Base(w.name()))
	if err != nil {
		return err
	}
	w.covered = w.existing == size
	var last [1]byte
	if end, err := w.index.Seek(0, io.SeekEnd); err == nil && end > 0 {
		if _, err := w.index.ReadAt(last[:], end-1); err == nil && last[0] != '\n' {
			w.index.WriteString("\n") // end an incomplete line
		}
	}
	return nil
}

func (w *Writer) finishIndex() error {
	if w.index == nil || w.err != nil {
		return nil
	}
	lines := w.flushCopied(nil)
	if w.covered {
		lines = coverage{filepath.Base(w.name()), w.size}.appendTo(lines)
	}
	_, err := w.index.Write(lines)
	return err
}

// indexRecords writes the index lines of records. places has their offsets and the end of the last
// one.
func (w *Writer) indexRecords(list []*Draft, offsets []int64) error {
	requests := make(map[string]int)
	for i, d := range list {
		if d.Header.Type() == Request {
			requests[d.Header.Get("WARC-Concurrent-To")] = i
		}
	}
	var lines []byte
	for i, d := range list {
		if d.Copied {
			lines = w.indexCopied(lines, d, offsets[i], offsets[i+1])
		}
		if d.Index == nil {
			continue
		}
		e := *d.Index
		e.Mime = bareType(e.Mime)
		e.URL, e.Date, e.File = d.Header.TargetURI(), d.Header.Date(), filepath.Base(w.name())
		e.Offset, e.Length = offsets[i], offsets[i+1]-offsets[i]
		if i, ok := requests[d.Header.Get("WARC-Record-ID")]; ok {
			e.Request = offsets[i]
			if e.Method != "" && list[i].Block != nil {
				_, e.RequestBody, _ = readRequest(list[i].Block.Reader(0))
			}
		}
		lines = e.AppendTo(lines)
	}
	_, err := w.index.Write(lines)
	return err
}

// indexCopied adds a record of another archive, which lies between from and to. It appends the
// lines of records that no longer wait for their request.
func (w *Writer) indexCopied(lines []byte, d *Draft, from, to int64) []byte {
	if w.copied == nil {
		w.copied = newIndexer(filepath.Base(w.name()))
	}
	rec := &Record{Header: slices.Clone(d.Header), Offset: from, Block: strings.NewReader("")}
	for i, f := range rec.Header {
		rec.Header[i].Value = strings.TrimSpace(oneLine(f.Value)) // as a Reader returns it
	}
	if d.Block != nil {
		rec.Block = d.Block.Reader(0)
	}
	w.copied.addRecord(rec)
	w.copied.endRecord(to)
	w.copied.flush(maxRequestDistance, func(e IndexEntry) error { // cannot fail
		lines = e.AppendTo(lines)
		return nil
	})
	return lines
}

func (w *Writer) flushCopied(lines []byte) []byte {
	if w.copied != nil {
		w.copied.flush(0, func(e IndexEntry) error { // cannot fail
			lines = e.AppendTo(lines)
			return nil
		})
		w.copied = nil
	}
	return lines
}

// continuesExchange reports whether the first record of list, copied from another archive, belongs
// to the exchange of the last record. Such records must be in the same file, because a reader needs
// both to find the request.
func (w *Writer) continuesExchange(list []*Draft) bool {
	if w.last == nil || len(list) == 0 || !list[0].Copied {
		return false
	}
	h := list[0].Header
	return h.TargetURI() != "" && h.TargetURI() == w.last.TargetURI() &&
		h.Get("WARC-Date") == w.last.Get("WARC-Date")
}
