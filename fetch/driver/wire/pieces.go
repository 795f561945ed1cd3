package wire

import "io"

// Pieces is a reader of content that arrives in buffers owned by other code, such as the replies to
// pipelined reads.
type Pieces struct {
	next  func() ([]byte, error)
	ended func() error
	rest  []byte
}

// NewPieces returns a reader of first, which may be empty, and then of the results of next. Next is
// called when the previous piece has been read. It returns io.EOF at the end. Ended returns the
// error that ends a read within a piece, such as that of a closed reader, or nil.
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

// WriteTo implements io.WriterTo without copying into a buffer.
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

func (p *Pieces) more() (err error) {
	if len(p.rest) > 0 {
		return p.ended()
	}
	p.rest, err = p.next()
	return err
}
