package nntp

import (
	"io"
	"iter"
	"net"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

func entries(r io.Reader, parse func(line []byte) (fetch.Entry, bool)) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for line, err := range wire.NewReader(r, maxLine).All() {
			if err != nil && !wire.IsLineCut(err) {
				yield(fetch.Entry{}, err)
				return
			}
			if e, ok := parse(line); ok && !yield(e, nil) {
				return
			}
		}
	}
}

// maxPart is the size from which a part of a listing is yielded, in bytes.
const maxPart = 16 << 10

// parts yields the lines of a listing, with CR LF. A part contains as many lines as have been
// received. If the loop stops early, the session is broken.
func (l *lease) parts(lines iter.Seq2[[]byte, error]) iter.Seq2[driver.Part, error] {
	return func(yield func(driver.Part, error) bool) {
		var text []byte
		for line, err := range lines {
			if err != nil {
				if l.Lines.Break(err); len(text) == 0 || yield(driver.Part{Text: text}, nil) {
					yield(driver.Part{}, err)
				}
				return
			}
			text = append(append(text, line...), "\r\n"...)
			if len(text) < maxPart && l.Lines.Reader().Buffered() > 0 {
				continue
			}
			if !yield(driver.Part{Text: text}, nil) {
				l.Lines.Break(net.ErrClosed)
				return
			}
			text = text[:0]
		}
		if len(text) > 0 {
			yield(driver.Part{Text: text}, nil)
		}
	}
}
