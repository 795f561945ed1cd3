package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// piecesOf yields pieces, overwrites each after use, and ends with the error end.
func piecesOf(end error, pieces ...string) *Pieces {
	var last []byte
	next := func() ([]byte, error) {
		clear(last)
		if len(pieces) == 0 {
			return nil, end
		}
		last, pieces = []byte(pieces[0]), pieces[1:]
		return last, nil
	}
	p := NewPieces(nil, next, func() error { return nil })
	return &p
}

func TestPieces(t *testing.T) {
	t.Parallel()
	if err := iotest.TestReader(piecesOf(io.EOF, "a", "bcd", "efghijklmnop"), []byte("abcdefghijklmnop")); err != nil {
		t.Error(err)
	}
	p := piecesOf(io.EOF, "second ", "third")
	p.rest = []byte("first ")
	begin := make([]byte, 3)
	if _, err := io.ReadFull(p, begin); err != nil || string(begin) != "fir" {
		t.Fatalf("read %q, %v", begin, err)
	}
	var rest bytes.Buffer
	if n, err := p.WriteTo(&rest); err != nil || rest.String() != "st second third" || n != 15 {
		t.Errorf("WriteTo wrote %q, %d, %v", rest.String(), n, err)
	}
}

func TestPiecesEndWithAnError(t *testing.T) {
	t.Parallel()
	cut, closed := errors.New("cut off"), errors.New("closed")
	if got, err := io.ReadAll(piecesOf(cut, "so much")); string(got) != "so much" || err != cut {
		t.Errorf("ReadAll = %q, %v", got, err)
	}
	if n, err := piecesOf(cut, "so much").WriteTo(io.Discard); n != 7 || err != cut {
		t.Errorf("WriteTo = %d, %v", n, err)
	}
	p := piecesOf(io.EOF, "so much")
	p.Read(make([]byte, 2))
	p.ended = func() error { return closed }
	if n, err := p.Read(make([]byte, 2)); n != 0 || err != closed {
		t.Errorf("Read of what was closed = %d, %v", n, err)
	}
	if n, err := p.WriteTo(io.Discard); n != 0 || err != closed {
		t.Errorf("WriteTo of what was closed = %d, %v", n, err)
	}
	full, r := errors.New("disk full"), piecesOf(io.EOF, "12345")
	n, err := r.WriteTo(writerFunc(func(b []byte) (int, error) { return 2, full }))
	if rest, _ := io.ReadAll(r); n != 2 || err != full || string(rest) != "345" {
		t.Errorf("WriteTo = %d, %v; then %q is left", n, err, rest)
	}
}
