package warc

import (
	"bytes"
	"fmt"
	"hash"
	"io"

	"github.com/urlget/urlget/archive/internal/digest"
)

// Checked returns a reader of the block that verifies it. No bytes of the block may have been read
// before. At the end the reader returns a *DamageError instead of io.EOF if the block does not
// match its digest. If the header has no usable digest, the checksum of the compressed member is
// checked instead; a member that is truncated after the block counts as damaged. The payload of a
// resource is its block. For the payload of an HTTP response, see HTTPResponse.
func (rec *Record) Checked() io.Reader {
	c := &checked{rec: rec, block: rec.Block, name: "block"}
	if want, ok := digest.Parse(rec.Get("WARC-Block-Digest")); ok {
		c.want, c.sum = want.Sum, want.Hash()
	} else if want, ok := rec.payloadDigest(); ok && rec.Type() == Resource {
		c.want, c.sum, c.name = want.Sum, want.Hash(), "payload"
	}
	return c
}

type checked struct {
	rec   *Record
	block io.Reader
	want  []byte
	sum   hash.Hash // nil if there is no digest
	name  string    // of the part with the digest
}

// payloadDigest returns the digest of a payload that is complete in the record.
func (rec *Record) payloadDigest() (digest.Digest, bool) {
	want, ok := digest.Parse(rec.Get("WARC-Payload-Digest"))
	return want, ok && rec.Incomplete() == ""
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
		err = mismatch(c.name, c.rec.Get("WARC-"+c.name+"-Digest"))
	case c.sum == nil && ok:
		err = b.r.checksum()
	}
	if err != io.EOF {
		err = &DamageError{Offset: c.rec.Offset, Err: err}
	}
	return n, err
}

func mismatch(part, digest string) error {
	return fmt.Errorf("%s does not match digest %s", part, digest)
}

// A payload is the payload of an HTTP response. At its end it is compared with its digest.
type payload struct {
	io.ReadCloser
	rec *Record
	payloadHash
}

func (p *payload) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.body.Write(b[:n])
	if err == io.EOF && !p.matches() {
		err = &DamageError{Offset: p.rec.Offset, Err: mismatch("payload", p.rec.Get("WARC-Payload-Digest"))}
	}
	return n, err
}

// A payloadHash computes the digest of a payload with and without chunked framing, because some
// writers include it.
type payloadHash struct {
	want   []byte
	framed *bodyHasher // gets the block
	body   hash.Hash   // gets the body without framing
}

func newPayloadHash(want digest.Digest) payloadHash {
	return payloadHash{want.Sum, &bodyHasher{sum: want.Hash()}, want.Hash()}
}

func (p *payloadHash) matches() bool {
	return bytes.Equal(p.body.Sum(nil), p.want) || bytes.Equal(p.framed.sum.Sum(nil), p.want)
}

// checksum verifies the member after its last block was read. It returns io.EOF if no error is found
// or if the file is not compressed.
func (r *Reader) checksum() error {
	if _, isPlain := r.pack.(plain); isPlain {
		return io.EOF
	}
	next, err := r.raw.Peek(maxGap + r.input.searchSize())
	next = bytes.TrimLeft(next, "\r\n")
	switch {
	case len(next) > 0 && r.input.begins(next):
		return r.memberChecksum()
	case len(next) > 0 || err == nil:
		return errLength
	case err == errMemberEnd:
		return io.EOF
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

// memberChecksum verifies a member that has several records. It reads the member again, once.
func (r *Reader) memberChecksum() error {
	if r.verified == r.member.offset+1 {
		return io.EOF
	}
	again, err := NewReader(r.input.file)
	if err != nil {
		return err
	}
	defer again.Close()
	again.pack.seekTo(r.member.offset)
	m, err := again.pack.next()
	if err == nil {
		_, err = io.Copy(io.Discard, m)
	}
	if err != nil {
		return err
	}
	r.verified = r.member.offset + 1
	return io.EOF
}
