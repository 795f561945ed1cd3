package warc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// maxHeader bounds the header of a record, and maxFields its fields.
	maxHeader = 256 << 10
	maxFields = 1000
	// maxGap bounds the line ends between records: two are due, some writers have more.
	maxGap = 64
)

// A DamageError tells of a place in a file that is no record. Reading goes on behind it.
type DamageError struct {
	Offset int64 // of the record or of what stands in its place, in bytes from the beginning of the file
	Err    error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("damaged at byte %d: %v", e.Offset, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }

// A Record is one record of a file.
type Record struct {
	Version string // such as "WARC/1.1"
	Header
	Length int64 // of the block, in bytes
	// Offset is where the record begins in the file, Within how many bytes of the content of the
	// compressed member there come before it: 0, but for files that have several records a member.
	Offset, Within int64
	// Block reads the block. An error that is not io.EOF is a *DamageError. It is of no use after the
	// reader was asked for the next record.
	Block io.Reader
}

// A Reader reads the records of a file one after the other.
type Reader struct {
	pack   packing
	raw    *bufio.Reader // of the content of members
	member member
	taken  int64 // bytes of the content of the member that were used
	ended  bool  // no member is open
	begin  int64 // where the record begins that was read last
	count  int   // its number
	rest   int64 // of its block
	open   bool  // there is one
	whole  int64 // behind the last record that was read to its end
	failed error // of the block
}

// NewReader returns a reader of the records of a file, which is plain or compressed by gzip or
// zstd, whatever it is called.
func NewReader(file io.ReaderAt) (*Reader, error) {
	in := newInput(file)
	head, err := in.buf.Peek(4)
	if len(head) == 0 && err != io.EOF {
		return nil, err
	}
	r := &Reader{ended: true}
	r.raw = bufio.NewReaderSize((*content)(r), 32<<10)
	switch {
	case len(head) == 4 && head[0] == 0x1f && head[1] == 0x8b:
		r.pack = &gzipped{input: in}
	case len(head) == 4 && (binary.LittleEndian.Uint32(head) == zstdFrame || binary.LittleEndian.Uint32(head) == zstdDictionary):
		if r.pack, err = newZstandard(in); err != nil {
			return nil, err
		}
	default:
		r.pack = plain{in}
	}
	return r, nil
}

// SeekRecord makes the next record the one at offset and within, which a Record had.
func (r *Reader) SeekRecord(offset, within int64) error {
	r.open, r.failed, r.ended = false, nil, true
	r.raw.Reset((*content)(r))
	in := r.input()
	in.seekTo(offset)
	if within == 0 {
		return nil
	}
	if err := r.advance(); err != nil {
		return err
	}
	n, err := io.CopyN(io.Discard, r.raw, within)
	r.taken += n
	return err
}

func (r *Reader) input() *input {
	switch p := r.pack.(type) {
	case plain:
		return p.input
	case *gzipped:
		return p.input
	case *zstandard:
		return p.input
	}
	panic("warc: unknown packing")
}

// Close frees what the reader holds, but not the file.
func (r *Reader) Close() error {
	if s, ok := r.pack.(*zstandard); ok {
		s.z.Close()
	}
	return nil
}

// content is the content of the members, each of which ends with errMemberEnd.
type content Reader

func (c *content) Read(p []byte) (int, error) {
	if c.ended {
		return 0, errMemberEnd
	}
	n, err := c.member.Read(p)
	if err == io.EOF {
		c.ended, err = true, nil
		if n == 0 {
			err = errMemberEnd
		}
	}
	return n, err
}

// advance goes to the next member.
func (r *Reader) advance() error {
	m, err := r.pack.next()
	r.member, r.taken, r.ended = m, 0, err != nil
	r.raw.Reset((*content)(r))
	return err
}

// Next returns the next record. At the end of the file the error is io.EOF. An error of type
// *DamageError tells of a place that was skipped: Next may be called again. Others are those of the
// file.
func (r *Reader) Next() (*Record, error) {
	if r.open {
		if err := r.finish(); err != nil {
			return nil, r.damaged(err)
		}
	}
	if err := r.start(); err != nil {
		if err == io.EOF {
			return nil, err
		}
		return nil, r.damaged(err)
	}
	rec, err := r.header()
	if err != nil {
		return nil, r.damaged(err)
	}
	r.open, r.rest, r.failed = true, rec.Length, nil
	r.count++
	rec.Block = &block{r: r, number: r.count}
	return rec, nil
}

// Whole returns where the last record ends that was there as a whole: what comes behind it may be
// cut off, so that others can be appended.
func (r *Reader) Whole() int64 { return r.whole }

// start goes to the beginning of the next record.
func (r *Reader) start() error {
	for gap := 0; ; {
		c, err := r.raw.Peek(1)
		if err == errMemberEnd || err == io.EOF {
			if err = r.advance(); err == nil {
				r.begin = r.member.offset
				continue
			}
			if err != io.EOF {
				r.begin = r.member.offset
			}
			return err
		}
		r.begin = r.position()
		if err != nil {
			return err
		}
		if c[0] != '\r' && c[0] != '\n' {
			return nil
		}
		if gap++; gap > maxGap {
			return errors.New("more line ends than there are between records")
		}
		r.raw.Discard(1)
		r.taken++
	}
}

// position returns where in the file the next byte of the content is, or the member that has it.
func (r *Reader) position() int64 {
	if _, ok := r.pack.(plain); ok {
		return r.member.offset + r.taken
	}
	return r.member.offset
}

// damaged goes to where the next record may begin, and returns the error for what is skipped.
func (r *Reader) damaged(err error) error {
	if err == errMemberEnd || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the record is cut off: %w", err)
	}
	r.open, r.ended = false, true
	r.raw.Reset((*content)(r))
	begin := r.begin
	if seekErr := r.pack.seek(begin + 1); seekErr != nil && seekErr != io.EOF {
		return seekErr
	}
	return &DamageError{Offset: begin, Err: err}
}

// header reads the header of a record.
func (r *Reader) header() (*Record, error) {
	rec := &Record{Offset: r.begin}
	if _, ok := r.pack.(plain); !ok {
		rec.Within = r.taken
	}
	left := maxHeader
	line, err := r.line(&left)
	if err != nil {
		return nil, err
	}
	if rec.Version = line; !strings.HasPrefix(line, "WARC/") || len(line) > 16 {
		return nil, fmt.Errorf("no record begins here, but %q", clip(line))
	}
	for {
		line, err := r.line(&left)
		switch {
		case err != nil:
			return nil, err
		case line == "":
			rec.Length, err = rec.contentLength()
			return rec, err
		case line[0] == ' ' || line[0] == '\t':
			if n := len(rec.Header); n > 0 {
				rec.Header[n-1].Value = strings.TrimSpace(rec.Header[n-1].Value + " " + strings.TrimSpace(line))
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("a line of the header has no colon: %q", clip(line))
		}
		if len(rec.Header) == maxFields {
			return nil, fmt.Errorf("the header has more than %d fields", maxFields)
		}
		rec.Header = append(rec.Header, Field{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
}

// line reads a line of a header of which left bytes may come.
func (r *Reader) line(left *int) (string, error) {
	var text []byte
	for {
		part, err := r.raw.ReadSlice('\n')
		r.taken += int64(len(part))
		if *left -= len(part); *left < 0 {
			return "", fmt.Errorf("the header is longer than %d bytes", maxHeader)
		}
		text = append(text, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err == errMemberEnd && r.pack.spans() {
			if err = r.advance(); err == nil {
				continue
			}
		}
		if err != nil {
			return "", err
		}
		return string(bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))), nil
	}
}

// finish reads what was left of the block, and the line ends behind it.
func (r *Reader) finish() error {
	if r.failed == nil {
		_, err := io.Copy(io.Discard, struct{ io.Reader }{(*rest)(r)})
		if err != nil {
			return err
		}
	}
	if r.failed != nil {
		return r.failed
	}
	for seen := 0; seen < 2; {
		c, err := r.raw.ReadByte()
		if err == errMemberEnd && r.pack.spans() {
			if err = r.advance(); err == nil {
				continue
			}
		}
		switch {
		case err != nil:
			return fmt.Errorf("the line ends behind its block are missing: %w", err)
		case c == '\n':
			seen++
		case c != '\r':
			return errors.New("its block does not end where its header says")
		}
		r.taken++
	}
	r.open = false
	if _, ok := r.pack.(plain); ok {
		r.whole = r.position()
		return nil
	}
	if _, err := r.raw.Peek(1); err == errMemberEnd { // which has checked the sum
		r.whole = r.pack.pos()
	} else if err != nil {
		return err
	}
	return nil
}

// rest reads the block of the record that was read last.
type rest Reader

func (b *rest) Read(p []byte) (int, error) {
	r := (*Reader)(b)
	for {
		if r.failed != nil {
			return 0, r.failed
		}
		if r.rest == 0 {
			return 0, io.EOF
		}
		n, err := r.raw.Read(p[:min(int64(len(p)), r.rest)])
		r.taken += int64(n)
		r.rest -= int64(n)
		if n > 0 {
			return n, nil
		}
		if err == errMemberEnd && r.pack.spans() {
			if err = r.advance(); err == nil {
				continue
			}
		}
		if err == errMemberEnd || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		r.failed = err
	}
}

// A block is the block of one record.
type block struct {
	r      *Reader
	number int
}

func (b *block) Read(p []byte) (int, error) {
	if !b.r.open || b.r.count != b.number {
		return 0, errors.New("warc: the reader has gone on to another record")
	}
	n, err := (*rest)(b.r).Read(p)
	if err != nil && err != io.EOF {
		err = &DamageError{Offset: b.r.begin, Err: err}
	}
	return n, err
}
