package driver

import (
	"fmt"
	"io"
	"iter"
	"net"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// A Part is a piece of the content of a listing, with its entries.
type Part struct {
	Text    []byte
	Entries []fetch.Entry
}

// URIListPart returns the Part of a text/uri-list (RFC 2483, section 5) for an entry: its URL on a
// line, after a comment line if comment is not empty. The text may be saved, so it omits the user
// information of the URL. The entry keeps it for later requests.
func URIListPart(comment string, e fetch.Entry) Part {
	var text []byte
	if comment != "" {
		text = fmt.Appendf(text, "# %s\r\n", fetch.Printable(comment))
	}
	if !e.URL.IsZero() {
		text = fmt.Appendf(text, "%s\r\n", e.URL.WithoutUserinfo())
	}
	return Part{Text: text, Entries: []fetch.Entry{e}}
}

// SetParts sets Body and Parse for entries that do not arrive as text, such as those of a local
// directory. The texts of the parts form the content. The sequence advances as the body is read,
// and a Part is not used after the next one has been requested. Close may be nil; otherwise it must
// unblock the sequence.
func SetParts(resp *fetch.Response, parts iter.Seq2[Part, error], close func() error) {
	l := &listing{parts: parts, close: close}
	resp.Body, resp.Parse = l, func(r io.Reader) iter.Seq2[fetch.Entry, error] {
		return EntriesAlong(r, l.take)
	}
}

// EntriesAlong reads r to its end and yields the entries that take returns after each read. It
// serves as Parse for drivers whose body collects entries.
func EntriesAlong(r io.Reader, take func() []fetch.Entry) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		buf := make([]byte, 16<<10)
		for {
			_, err := r.Read(buf)
			for _, e := range take() {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				if err != io.EOF {
					yield(fetch.Entry{}, err)
				}
				return
			}
		}
	}
}

type listing struct {
	parts iter.Seq2[Part, error]
	close func() error

	mu      sync.Mutex // held while the sequence is advanced
	next    func() (Part, error, bool)
	stop    func()
	rest    []byte // of the current part
	entries []fetch.Entry
	err     error // sticky
}

func (l *listing) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil && l.err == nil {
		l.next, l.stop = iter.Pull2(l.parts)
	}
	for len(l.rest) == 0 && l.err == nil {
		part, err, ok := l.next()
		switch {
		case !ok:
			l.err = io.EOF
		case err != nil:
			l.err = err
		default:
			l.rest, l.entries = part.Text, part.Entries
		}
	}
	if len(l.rest) == 0 {
		return 0, l.err
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// take returns the entries of the most recently read part, once.
func (l *listing) take() []fetch.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := l.entries
	l.entries = nil
	return entries
}

func (l *listing) Close() error {
	var err error
	if l.close != nil {
		err = l.close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		l.stop()
		l.next, l.stop = nil, nil
	}
	if l.err == nil {
		l.err = net.ErrClosed
	}
	return err
}
