package wire

import "io"

// Pieces reads content that comes in pieces of memory that belongs to somebody else, such as the
// answers to reads that were sent ahead.
type Pieces struct {
	next  func() ([]byte, error)
	ended func() error
	rest  []byte
}

// NewPieces returns the pieces first, which may be empty, and what next returns until that fails,
// with io.EOF at the end. Next is called when the piece before is used up. Ended returns the error
// that reading ends with in the middle of a piece, such as that of a reader which was closed.
func NewPieces(first []byte, next func() ([]byte, error), ended func() error) Pieces {
	return Pieces{next: next, ended: ended, rest: first}
}

// Read implements io.Reader.
func (p *Pieces) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := p.more(); err != nil {
		return 0, err
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// WriteTo implements io.WriterTo, without copying into a buffer.
func (p *Pieces) WriteTo(w io.Writer) (written int64, err error) {
	for {
		if err := p.more(); err == io.EOF {
			return written, nil
		} else if err != nil {
			return written, err
		}
		n, err := w.Write(p.rest)
		written += int64(n)
		p.rest = p.rest[n:]
		if err != nil {
			return written, err
		}
	}
}

// more sees to it that there is something to read.
func (p *Pieces) more() (err error) {
	if len(p.rest) > 0 {
		return p.ended()
	}
	p.rest, err = p.next()
	return err
}
