package nntp

import (
	"io"
	"iter"
	"net"
	"sync"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// entries yields an entry for each line of a listing. Parse reports false for a line that makes
// none.
func entries(r io.Reader, parse func(line []byte) (driver.Entry, bool)) iter.Seq2[driver.Entry, error] {
	return func(yield func(driver.Entry, error) bool) {
		for line, err := range wire.NewReader(r, maxLine).All() {
			if err != nil && !wire.IsLineCut(err) {
				yield(driver.Entry{}, err)
				return
			}
			if e, ok := parse(line); ok && !yield(e, nil) {
				return
			}
		}
	}
}

// A listing delivers lines from a session as a Body. It returns the session to the pool when the
// last line has been read.
type listing struct {
	l     *lease
	lines iter.Seq2[[]byte, error]
	once  sync.Once // the end of the lease

	mu   sync.Mutex // held while lines are read for Read
	next func() ([]byte, error, bool)
	stop func()
	line []byte // the present one, with its end
	out  []byte // the part of it that is not delivered yet
	err  error
}

// all yields the lines.
func (b *listing) all() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		finished := false
		defer func() { b.finish(finished) }()
		for line, err := range b.lines {
			if !yield(line, err) || err != nil {
				return
			}
		}
		finished = true
	}
}

func (b *listing) finish(complete bool) {
	b.once.Do(func() {
		if complete {
			b.l.Put()
		} else {
			b.l.Discard()
		}
	})
}

// Read implements io.Reader. Lines end in CR LF, as they came.
func (b *listing) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next, b.stop = iter.Pull2(b.all())
	}
	n := 0
	for n < len(p) && b.err == nil {
		if len(b.out) == 0 {
			if n > 0 && b.l.Lines.Reader().Buffered() == 0 {
				break // rather than wait for the server
			}
			line, err, ok := b.next()
			switch {
			case !ok:
				b.err = io.EOF
			case err != nil:
				b.err = err
			default:
				b.line = append(append(b.line[:0], line...), "\r\n"...)
				b.out = b.line
			}
		}
		m := copy(p[n:], b.out)
		b.out = b.out[m:]
		n += m
	}
	if n > 0 {
		return n, nil
	}
	return 0, b.err
}

// Close implements io.Closer. It ends a Read that waits for the server.
func (b *listing) Close() error {
	b.finish(false)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil {
		b.stop()
	}
	if b.err == nil {
		b.err = net.ErrClosed
	}
	return nil
}
