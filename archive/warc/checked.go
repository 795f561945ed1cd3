package warc

import (
	"bytes"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/urlget/urlget/archive/internal/digest"
)

// Checked returns a reader of the block that verifies it. No bytes of the block may have been read
// before. At the end the reader returns a *DamageError instead of io.EOF if the block does not
// match its digest. If the header has no usable digest, the checksum of the compressed member is
// checked instead.
func (rec *Record) Checked() io.Reader {
	c := &checked{rec: rec, block: rec.Block}
	if want, ok := digest.Parse(rec.Get("WARC-Block-Digest")); ok {
		c.want, c.sum = want.Sum, want.Hash()
	}
	return c
}

type checked struct {
	rec   *Record
	block io.Reader
	want  []byte
	sum   hash.Hash // nil if there is no digest
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.block.Read(p)
	if c.sum != nil {
		c.sum.Write(p[:n])
	}
	if err != io.EOF {
		return n, err
	}
	switch b, ok := c.block.(*block); {
	case c.sum != nil && !bytes.Equal(c.sum.Sum(nil), c.want):
		err = fmt.Errorf("block does not match digest %s", c.rec.Get("WARC-Block-Digest"))
	case c.sum == nil && ok:
		err = b.r.checksum()
	}
	if err != io.EOF {
		err = &DamageError{Offset: c.rec.Offset, Err: err}
	}
	return n, err
}

// checksum verifies the member after its last block was read. It returns io.EOF if no error is
// found. A truncated member is accepted, because the block is complete.
func (r *Reader) checksum() error {
	const lineEnds = 4
	if _, err := r.raw.Peek(lineEnds + 1); err != nil && err != errMemberEnd && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return io.EOF
}
