package warc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/urlget/urlget/archive/internal/httprecord"
)

const (
	// maxHeader limits the header of a record in bytes, and maxFields the number of its fields.
	maxHeader = 256 << 10
	maxFields = 1000
	// usualFields is the number of fields of most records.
	usualFields = 12
	// maxGap limits the line ends between records. The standard has two, some writers more.
	maxGap = 64
)

// A DamageError reports a part of a file that is not a valid record. The Reader continues after it.
type DamageError struct {
	Offset int64 // start of the damaged part, in bytes
	Err    error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("damaged at byte %d: %v", e.Offset, e.Err)
}

func (e *DamageError) Unwrap() error { return e.Err }

// A Record is one record of a file.
type Record struct {
	Version string // such as "WARC/1.1" or "ARC/1"
	Header
	Length int64 // of the block, in bytes
	// Offset is the position of the record in the file, or of its compressed member. Within is its
	// position in the uncompressed member. It is 0 unless several records share a member.
	Offset, Within int64
	// Block reads the block. An error other than io.EOF is a *DamageError. Block is valid until the
	// next call of Reader.Next.
	Block io.Reader
}

// HTTPResponse reads the response in the block of an HTTP response or revisit record. Interim
// responses are skipped; together with the head they are limited to maxHead bytes. A malformed head
// is read as browsers read it. The body, without chunked framing, ends where the block ends, and a
// smaller or invalid Content-Length is corrected. A body shorter than Content-Length ends with
// io.ErrUnexpectedEOF. If Block is that of Checked and the header has only the digest of the payload,
// the body ends with a *DamageError if it does not match.
func (rec *Record) HTTPResponse(maxHead int64) (*http.Response, error) {
	want, ok := rec.payloadDigest()
	if c, isChecked := rec.Block.(*checked); !isChecked || !ok || c.sum != nil || rec.Type() != Response {
		return httprecord.Read(rec.Block, rec.Length, maxHead)
	}
	p := &payload{rec: rec, payloadHash: newPayloadHash(want)}
	resp, err := httprecord.Read(io.TeeReader(rec.Block, p.framed), rec.Length, maxHead)
	if err == nil {
		p.ReadCloser = resp.Body
		resp.Body = p
	}
	return resp, err
}

// A Reader reads the records of a file in order.
type Reader struct {
	pack        packing
	raw         *bufio.Reader // uncompressed members
	member      member
	consumed    int64 // bytes consumed from the member
	ended       bool  // no member is open
	recordStart int64 // position of the last record
	count       int   // its number
	blockLeft   int64 // unread bytes of its block
	open        bool  // the last record is not finished
	validSize   int64 // end of the last complete record
	blockErr    error // read error of the block
	arc         bool  // the last record is in ARC format
	input       *input
	wasted      int64 // bytes read of records that were damaged
	verified    int64 // offset plus 1 of the last member that memberChecksum verified
}

var errLength = errors.New("block does not match Content-Length")

// NewReader returns a Reader of a WARC or ARC file that is plain or compressed with gzip, zstd or bzip2.
// The file name does not matter. Records of ARC files get the header that they would have in a WARC file,
// without a record ID.
func NewReader(file io.ReaderAt) (*Reader, error) {
	in := newInput(file)
	head, err := in.buf.Peek(4)
	if len(head) == 0 && err != io.EOF {
		return nil, err
	}
	r := &Reader{ended: true, input: in}
	r.raw = bufio.NewReaderSize((*content)(r), 32<<10)
	magic := uint32(0)
	if len(head) == 4 {
		magic = binary.LittleEndian.Uint32(head)
	}
	switch {
	case magic&0xffff == 0x8b1f:
		r.pack = &gzipped{input: in}
	case magic&0xffffff == 0x685a42: // "BZh"
		r.pack = bzipped{in}
	case magic == zstdFrame || magic == zstdDictionary:
		if r.pack, err = newZstandard(in); err != nil {
			return nil, err
		}
	default:
		r.pack = plain{in}
	}
	return r, nil
}

// SeekRecord moves to the record with the given Offset and Within, which Next then returns.
func (r *Reader) SeekRecord(offset, within int64) error {
	r.open, r.blockErr, r.ended = false, nil, true
	r.raw.Reset((*content)(r))
	r.pack.seekTo(offset)
	if within == 0 {
		return nil
	}
	if err := r.advance(); err != nil {
		return err
	}
	n, err := io.CopyN(io.Discard, r.raw, within)
	r.consumed += n
	return err
}

// Close releases resources of the reader. It does not close the file.
func (r *Reader) Close() error {
	switch p := r.pack.(type) {
	case *zstandard:
		p.z.Close()
	case *gzipped:
		p.ahead.close()
		p.ahead = nil
	}
	return nil
}

// content reads the uncompressed members. Each ends with errMemberEnd.
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

func (r *Reader) advance() error {
	m, err := r.pack.next()
	r.member, r.consumed, r.ended = m, 0, err != nil
	r.raw.Reset((*content)(r))
	return err
}

// Next returns the next record, or io.EOF at the end of the file. A *DamageError reports a part
// that was skipped; Next may be called again. Other errors are those of the file.
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
	r.open, r.blockLeft, r.blockErr = true, rec.Length, r.checkEnd(rec.Length)
	r.count++
	rec.Block = &block{r: r, number: r.count}
	return rec, nil
}

// Records yields the records that Next returns. After a *DamageError the sequence goes on; any other error
// is the last value.
func (r *Reader) Records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for {
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			_, isDamage := errors.AsType[*DamageError](err)
			if !yield(rec, err) || err != nil && !isDamage {
				return
			}
		}
	}
}

// ValidSize returns the end of the last complete record. The rest of the file may be truncated
// before new records are appended.
func (r *Reader) ValidSize() int64 { return r.validSize }

func (r *Reader) start() error {
	for gap := 0; ; {
		c, err := r.raw.Peek(1)
		if err == errMemberEnd || err == io.EOF {
			if err = r.advance(); err == nil {
				r.recordStart = r.member.offset
				continue
			}
			if err != io.EOF {
				r.recordStart = r.member.offset
			}
			return err
		}
		r.recordStart = r.position()
		if err != nil {
			return err
		}
		if c[0] != '\r' && c[0] != '\n' {
			return nil
		}
		if gap++; gap > maxGap {
			return errors.New("too many line ends between records")
		}
		r.raw.Discard(1)
		r.consumed++
	}
}

// position returns the position in the file of the next byte, or of its compressed member.
func (r *Reader) position() int64 {
	if _, ok := r.pack.(plain); ok {
		return r.member.offset + r.consumed
	}
	return r.member.offset
}

// damaged moves to the next possible start of a record and returns the error for the skipped part.
func (r *Reader) damaged(err error) error {
	if err == errMemberEnd || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("truncated record: %w", err)
	}
	r.open, r.ended = false, true
	r.raw.Reset((*content)(r))
	recordStart := r.recordStart
	r.wasted += max(0, r.pack.pos()-recordStart)
	if seekErr := r.pack.seek(recordStart + 1); seekErr != nil && seekErr != io.EOF {
		return seekErr
	}
	return &DamageError{Offset: recordStart, Err: err}
}

// isWasteful reports whether damaged records have cost more than a search may. Each of them may seem
// to contain all that follow, so a reader that went on like that would take quadratic time.
func (r *Reader) isWasteful() bool { return r.wasted > trialSlack+trialFactor*r.recordStart }

// spans reports whether the record may continue in the next member.
func (r *Reader) spans() bool { return r.pack.spans() && !r.isWasteful() }

// checkEnd returns the error of finish for a block of a plain file, without reading the block. Until
// the reader is wasteful it returns nil, so that callers get the bytes of a block that is too short.
func (r *Reader) checkEnd(length int64) error {
	if _, ok := r.pack.(plain); !ok || !r.isWasteful() {
		return nil
	}
	p := make([]byte, 1+maxGap)
	n, _ := r.input.file.ReadAt(p, r.position()+length-1) // the byte before the end must exist
	if n == 0 {
		return io.ErrUnexpectedEOF
	}
	gap := p[1:n]
	next := bytes.TrimLeft(gap, "\r\n")
	lineEnds := bytes.Count(gap[:len(gap)-len(next)], []byte("\n"))
	switch {
	case lineEnds >= 2, r.arc && lineEnds == 1, r.arc && len(next) == 0:
		return nil
	case len(next) > 0:
		return errLength
	}
	return io.ErrUnexpectedEOF
}

func (r *Reader) header() (*Record, error) {
	rec := &Record{Offset: r.recordStart}
	if _, ok := r.pack.(plain); !ok {
		rec.Within = r.consumed
	}
	remaining := maxHeader
	line, err := r.line(&remaining)
	if err != nil {
		return nil, err
	}
	arc := parseARC(line)
	if r.arc = arc != nil; r.arc {
		arc.Offset, arc.Within = rec.Offset, rec.Within
		r.input.arc = true
		return arc, nil
	}
	if rec.Version = line; !strings.HasPrefix(line, "WARC/") || len(line) > 16 {
		return nil, fmt.Errorf("expected a record, found %q", shorten(line))
	}
	rec.Header = make(Header, 0, usualFields)
	for {
		line, err := r.line(&remaining)
		switch {
		case err != nil:
			return nil, err
		case line == "":
			rec.Length, err = rec.contentLength()
			return rec, err
		case line[0] == ' ' || line[0] == '\t':
			if n := len(rec.Header); n > 0 {
				last := &rec.Header[n-1]
				last.Value = strings.TrimSpace(last.Value + " " + strings.TrimSpace(line))
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("header line without a colon: %q", shorten(line))
		}
		if len(rec.Header) == maxFields {
			return nil, fmt.Errorf("the header has more than %d fields", maxFields)
		}
		rec.Header = append(rec.Header, Field{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
}

// line reads a header line and subtracts its length from remaining.
func (r *Reader) line(remaining *int) (string, error) {
	var begin []byte // of a line that is longer than the buffer, or in several members
	for {
		part, err := r.raw.ReadSlice('\n')
		r.consumed += int64(len(part))
		if *remaining -= len(part); *remaining < 0 {
			return "", fmt.Errorf("the header is longer than %d bytes", maxHeader)
		}
		if err == nil {
			if begin != nil {
				part = append(begin, part...)
			}
			return string(bytes.TrimRight(bytes.TrimSuffix(part, []byte("\n")), "\r")), nil
		}
		begin = append(begin, part...)
		switch {
		case err == bufio.ErrBufferFull:
		case err == errMemberEnd && r.spans():
			if err := r.advance(); err != nil {
				return "", err
			}
		default:
			return "", err
		}
	}
}

func (r *Reader) finish() error {
	if r.blockErr == nil {
		_, err := io.Copy(io.Discard, struct{ io.Reader }{(*blockRest)(r)})
		if err != nil {
			return err
		}
	}
	if r.blockErr != nil {
		return r.blockErr
	}
	lineEnds := 0
	if r.arc {
		lineEnds = 1 // ARC has only one, and the last record may have none
	}
	for lineEnds < 2 {
		c, err := r.raw.ReadByte()
		if r.arc && (err == errMemberEnd || err == io.EOF) {
			break
		}
		if err == errMemberEnd && r.spans() {
			if err = r.advance(); err == nil {
				continue
			}
		}
		switch {
		case err != nil:
			return fmt.Errorf("missing line ends after the block: %w", err)
		case c == '\n':
			lineEnds++
		case c != '\r':
			return errLength
		}
		r.consumed++
	}
	r.open = false
	if _, ok := r.pack.(plain); ok {
		r.validSize = r.position()
		return nil
	}
	if _, err := r.raw.Peek(1); err == errMemberEnd { // Peek has verified the checksum
		r.validSize = r.pack.pos()
	} else if err != nil {
		return err
	}
	return nil
}

// blockRest reads the rest of the block of the last record.
type blockRest Reader

func (b *blockRest) Read(p []byte) (int, error) {
	r := (*Reader)(b)
	for {
		if r.blockErr != nil {
			return 0, r.blockErr
		}
		if r.blockLeft == 0 {
			return 0, io.EOF
		}
		n, err := r.raw.Read(p[:min(int64(len(p)), r.blockLeft)])
		r.consumed += int64(n)
		r.blockLeft -= int64(n)
		if n > 0 {
			return n, nil
		}
		if err == errMemberEnd && r.spans() {
			if err = r.advance(); err == nil {
				continue
			}
		}
		if err == errMemberEnd || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		r.blockErr = err
	}
}

type block struct {
	r      *Reader
	number int
}

func (b *block) Read(p []byte) (int, error) {
	if !b.r.open || b.r.count != b.number {
		return 0, errors.New("warc: block read after Reader.Next")
	}
	n, err := (*blockRest)(b.r).Read(p)
	if err != nil && err != io.EOF {
		err = &DamageError{Offset: b.r.recordStart, Err: err}
	}
	return n, err
}
