package warc

import (
	"bytes"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Checked returns a reader of the block, of which nothing was read yet, that ends with a *DamageError
// in place of io.EOF if these are not the bytes that were written: by the digest of the block, or
// where the header has none that is known, by the checksum of the compressed member.
func (rec *Record) Checked() io.Reader {
	c := &checked{rec: rec, block: rec.Block}
	if want, ok := ParseDigest(rec.Get("WARC-Block-Digest")); ok {
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
		err = fmt.Errorf("its block has not the digest %s", c.rec.Get("WARC-Block-Digest"))
	case c.sum == nil && ok:
		err = b.r.checksum()
	}
	if err != io.EOF {
		err = &DamageError{Offset: c.rec.Offset, Err: err}
	}
	return n, err
}

// checksum looks at what follows a block that was read to its end, and returns what is wrong with
// the member, io.EOF if nothing is known to be. That its end is missing does not change the block.
func (r *Reader) checksum() error {
	const lineEnds = 4
	if _, err := r.raw.Peek(lineEnds + 1); err != nil && err != errMemberEnd && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return io.EOF
}
