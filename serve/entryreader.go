package serve

import (
	"io"
	"iter"
	"net/mail"
	"time"

	"github.com/urlget/urlget/fetch"
)

// maxUnsent is how long written entries are kept back if the next one is late.
const maxUnsent = 50 * time.Millisecond

type entryReader struct {
	entries  <-chan readEntry // closed at the end
	stop     func()
	first    []fetch.Entry
	complete bool  // first has all entries
	err      error // ends the entries
}

type readEntry struct {
	entry fetch.Entry
	err   error
}

// newEntryReader reads the entries of a body. stop closes the body.
func newEntryReader(entries iter.Seq2[fetch.Entry, error], body io.Closer) *entryReader {
	read, stopped := make(chan readEntry), make(chan struct{})
	go func() {
		defer close(read)
		for e, err := range entries {
			e.ModTime = dateOf(e)
			select {
			case read <- readEntry{e, err}:
			case <-stopped:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return &entryReader{entries: read, stop: func() {
		close(stopped)
		body.Close()
		for range read {
		}
	}}
}

// dateOf returns the time of an entry. That of a message is when it was sent, not when it arrived.
func dateOf(e fetch.Entry) time.Time {
	if isMessage(e.ContentType) {
		if sent, err := mail.ParseDate(textOf(e.Facts(), "date")); err == nil {
			return sent
		}
	}
	return e.ModTime
}

func (in *entryReader) peek(n int, patience <-chan time.Time) {
	for len(in.first) < n && !in.complete {
		select {
		case e, ok := <-in.entries:
			if in.complete, in.err = !ok || e.err != nil, e.err; !in.complete {
				in.first = append(in.first, e.entry)
			}
		case <-patience:
			return
		}
	}
}

func (in *entryReader) all(flush func()) iter.Seq[fetch.Entry] {
	return func(yield func(fetch.Entry) bool) {
		for _, e := range in.first {
			if !yield(e) {
				return
			}
		}
		for !in.complete {
			e, ok := in.next(flush)
			if in.complete, in.err = !ok || e.err != nil, e.err; in.complete || !yield(e.entry) {
				return
			}
		}
	}
}

func (in *entryReader) next(flush func()) (readEntry, bool) {
	late := time.NewTimer(maxUnsent)
	defer late.Stop()
	select {
	case e, ok := <-in.entries:
		return e, ok
	case <-late.C:
		flush()
	}
	e, ok := <-in.entries
	return e, ok
}
