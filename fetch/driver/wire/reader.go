package wire

import (
	"bufio"
	"bytes"
	"io"
	"iter"
)

const (
	bufferSize     = 64 << 10
	defaultMaxLine = 8 << 10
)

// A Reader reads lines, replies and dot-terminated blocks from a server, and the bytes after them.
// It is not safe for concurrent use.
type Reader struct {
	br      *bufio.Reader
	maxLine int
	skip    bool // the rest of a line that is too long must be skipped
	// Endings of the lines that RawLine returned.
	sawLF, sawCRLF bool
}

// NewReader returns a Reader with a buffer of at least 64 KiB. MaxLine limits the length of lines
// in bytes, not counting the line ending; 0 means 8 KiB.
func NewReader(r io.Reader, maxLine int) *Reader {
	if maxLine <= 0 {
		maxLine = defaultMaxLine
	}
	return &Reader{br: bufio.NewReaderSize(r, max(bufferSize, maxLine+2)), maxLine: maxLine}
}

// Line returns the next line without its CRLF or LF. The slice is valid until the next method call.
//
// If the stream ends between two lines, the error is io.EOF. If it ends within a line, Line returns
// the incomplete line and io.ErrUnexpectedEOF. If the line is too long, Line returns its beginning
// and a *LineTooLongError, and the next call returns the following line. After any other error,
// such as a timeout, no data is lost, and Line may be called again.
func (r *Reader) Line() ([]byte, error) {
	line, err := r.RawLine()
	return trimEnd(line), err
}

// All iterates over the remaining lines. The last one may lack a line ending. For a line that is
// too long, All yields its beginning and a *LineTooLongError, and continues. Any other error ends
// the iteration. A line is valid until the next iteration.
func (r *Reader) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		ended := false
		for {
			line, err := r.Line()
			if err == io.ErrUnexpectedEOF && !ended { // an error of the source, which would repeat
				ended = true
				if len(line) == 0 {
					continue // the end of a line that was too long
				}
				err = nil
			}
			if err == io.EOF || !yield(line, err) || err != nil && !IsLineCut(err) {
				return
			}
		}
	}
}

// RawLine is like Line but keeps the line ending.
func (r *Reader) RawLine() ([]byte, error) {
	line, err := r.rawLine(r.maxLine)
	isCRLF := bytes.HasSuffix(line, []byte("\r\n"))
	r.sawCRLF = r.sawCRLF || isCRLF
	r.sawLF = r.sawLF || !isCRLF && bytes.HasSuffix(line, []byte("\n"))
	return line, err
}

// usesLF reports whether the server ends its lines with LF: each line outside of blocks had one.
func (r *Reader) usesLF() bool { return r.sawLF && !r.sawCRLF }

func (r *Reader) rawLine(max int) ([]byte, error) {
	if r.skip {
		if err := r.skipLine(); err != nil {
			return nil, err
		}
	}
	for scanned := 0; ; {
		buf, _ := r.br.Peek(r.br.Buffered())
		end := scanned + bytes.IndexByte(buf[scanned:], '\n') + 1
		complete := end > scanned
		if complete && len(trimEnd(buf[:end])) <= max {
			r.br.Discard(end)
			return buf[:end], nil
		}
		if complete || len(buf) >= max+2 {
			r.br.Discard(max)
			r.skip = true
			return buf[:max], &LineTooLongError{Max: max}
		}
		scanned = len(buf)
		buf, err := r.br.Peek(len(buf) + 1)
		if err == io.EOF && len(buf) > 0 {
			r.br.Discard(len(buf))
			return buf, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
}

// skipLine discards everything up to and including the next LF. If the stream ends before that, it
// returns the error once.
func (r *Reader) skipLine() error {
	for {
		_, err := r.br.ReadSlice('\n')
		r.skip = err != nil && err != io.EOF
		if err == nil {
			return nil
		}
		if err != bufio.ErrBufferFull {
			return unexpected(err)
		}
	}
}

func trimEnd(line []byte) []byte {
	if cut, ok := bytes.CutSuffix(line, []byte("\n")); ok {
		return bytes.TrimSuffix(cut, []byte("\r"))
	}
	return line
}

// Read implements io.Reader. It returns buffered data first.
func (r *Reader) Read(p []byte) (int, error) { return r.br.Read(p) }

// WriteTo implements io.WriterTo. When the buffer is empty, it uses the WriteTo of the underlying
// reader, so that a Conn can splice.
func (r *Reader) WriteTo(w io.Writer) (int64, error) { return r.br.WriteTo(w) }

// ReadByte implements io.ByteReader.
func (r *Reader) ReadByte() (byte, error) { return r.br.ReadByte() }

// Peek returns the next n bytes, at most 64 KiB, without consuming them. If there are fewer, it
// returns those and an error. The slice is valid until the next method call.
func (r *Reader) Peek(n int) ([]byte, error) { return r.br.Peek(n) }

// Buffered returns the number of bytes that have been received but not yet read.
func (r *Reader) Buffered() int { return r.br.Buffered() }

// unexpected converts io.EOF to io.ErrUnexpectedEOF, for places where the protocol does not allow
// the stream to end.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
