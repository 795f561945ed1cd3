package wire

import (
	"bytes"
	"io"
	"iter"
)

// Unstuffing selects the lines of a dot-terminated block that lose their leading dot.
type Unstuffing uint8

const (
	// UnstuffAll removes the leading dot of every line that begins with one (RFC 3977, section
	// 3.1.1; RFC 1939, section 3).
	UnstuffAll Unstuffing = iota
	// UnstuffDouble removes it only from lines that begin with two dots, for servers that do no
	// dot-stuffing, such as dictd. The line ".profile" is not changed.
	UnstuffDouble
	// UnstuffLone removes it only from the line "..", for servers that stuff only a line with a
	// single dot, such as the University of Minnesota Gopher server.
	UnstuffLone
	// UnstuffNone does not change any line.
	UnstuffNone
)

// DotOptions configure the reading of a dot-terminated block.
type DotOptions struct {
	Unstuff Unstuffing
	// LenientEnd accepts a bare LF as a line ending, so that a dot between two bare LFs ends the
	// block. A dot that is the last byte of the stream also ends it. Without LenientEnd, only CRLF
	// "." CRLF ends the block. If the server has ended its lines before the block with bare LFs only,
	// then bare LFs are line endings: content with such a line cannot feign the end.
	LenientEnd bool
}

// A DotReader reads the content of a block that ends with a line consisting of a single dot. Line
// endings are kept. Read returns io.EOF after the final dot, and io.ErrUnexpectedEOF if the stream
// ends without it. Lines may have any length.
//
// After io.EOF, the data after the block can be read from the Reader.
type DotReader struct {
	r    *Reader
	opts DotOptions
	bol  bool // at the beginning of a line
	cr   bool // the last byte was CR
	done bool
	// bareLF is set if a bare LF is a line ending.
	bareLF bool
}

// Dot returns a reader for the dot-terminated block at the current position.
func (r *Reader) Dot(opts DotOptions) *DotReader {
	return &DotReader{r: r, opts: opts, bol: true, bareLF: opts.LenientEnd || r.usesLF()}
}

// Read implements io.Reader.
func (d *DotReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	run, err := d.next(len(p))
	n := copy(p, run)
	d.advance(run)
	return n, err
}

// WriteTo implements io.WriterTo.
func (d *DotReader) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for {
		run, err := d.next(bufferSize)
		if err == io.EOF {
			return written, nil
		}
		if err != nil {
			return written, err
		}
		n, err := w.Write(run)
		written += int64(n)
		d.advance(run[:n])
		if err == nil && n < len(run) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return written, err
		}
	}
}

func (d *DotReader) next(max int) ([]byte, error) {
	if d.done {
		return nil, io.EOF
	}
	first, err := d.r.br.Peek(1)
	if err != nil {
		return nil, unexpected(err)
	}
	if d.bol && first[0] == '.' {
		if err := d.dotLine(); err != nil {
			return nil, err
		}
	}
	buf, err := d.r.br.Peek(min(max, d.r.br.Buffered()))
	if d.cr && buf[0] == '\n' {
		return buf[:1], err
	}
	if i := bytes.Index(buf, d.beforeDot()); i >= 0 {
		buf = buf[:i+len(d.beforeDot())-1]
	}
	return buf, err
}

func (d *DotReader) beforeDot() []byte {
	if d.bareLF {
		return []byte("\n.")
	}
	return []byte("\r\n.")
}

// dotLine handles a dot at the beginning of a line: it consumes either the end of the block or a
// stuffed dot. If it returns nil, the buffer holds at least one byte of the line's content.
func (d *DotReader) dotLine() error {
	lenient := d.opts.LenientEnd
	b, err := d.r.br.Peek(2)
	if err == io.EOF && lenient {
		return d.end(1)
	}
	if err != nil {
		return unexpected(err)
	}
	switch {
	case d.bareLF && b[1] == '\n':
		return d.end(2)
	case b[1] == '\r':
		b, err = d.r.br.Peek(3)
		if err == io.EOF && lenient {
			return d.end(2)
		}
		if err != nil {
			return unexpected(err)
		}
		if b[2] == '\n' {
			return d.end(3)
		}
	}
	stuffed, err := d.stuffed()
	if err != nil {
		return err
	}
	if stuffed {
		d.r.br.Discard(1)
	}
	d.bol = false
	return nil
}

// stuffed reports whether the leading dot of a line, which does not end the block, must be removed.
func (d *DotReader) stuffed() (bool, error) {
	switch d.opts.Unstuff {
	case UnstuffAll:
		return true, nil
	case UnstuffDouble:
		return d.follows("..")
	case UnstuffLone:
		ok, err := d.follows("..\r\n")
		if !ok && err == nil && d.bareLF {
			ok, err = d.follows("..\n")
		}
		return ok, err
	}
	return false, nil
}

// follows reports whether the next bytes of the stream are s. It reads no more than necessary.
func (d *DotReader) follows(s string) (bool, error) {
	for i := range len(s) {
		b, err := d.r.br.Peek(i + 1)
		if err == io.EOF {
			return false, nil
		}
		if err != nil || b[i] != s[i] {
			return false, err
		}
	}
	return true, nil
}

func (d *DotReader) end(n int) error {
	d.r.br.Discard(n)
	d.done = true
	return io.EOF
}

// advance discards content returned by next from the buffer.
func (d *DotReader) advance(run []byte) {
	if len(run) == 0 {
		return
	}
	last := run[len(run)-1]
	afterCR := d.cr
	if len(run) > 1 {
		afterCR = run[len(run)-2] == '\r'
	}
	d.bol = last == '\n' && (afterCR || d.bareLF)
	d.cr = last == '\r'
	d.r.br.Discard(len(run))
}

// DotLines iterates over the lines of the dot-terminated block at the current position. Line
// endings, which may be bare LFs, are removed, and so are dots according to opts. A line is valid
// until the next iteration.
//
// MaxLine limits the length of lines in bytes, up to 64 KiB; 0 means the limit of the Reader. For a
// longer line, DotLines yields its beginning and a *LineTooLongError, and continues. Any other
// error ends the iteration; io.ErrUnexpectedEOF means that the final dot is missing. Leaving the
// loop early leaves the rest of the block unread.
func (r *Reader) DotLines(opts DotOptions, maxLine int) iter.Seq2[[]byte, error] {
	if maxLine <= 0 {
		maxLine = r.maxLine
	}
	maxLine = min(maxLine, r.br.Size()-2)
	bareLF := opts.LenientEnd || r.usesLF()
	return func(yield func([]byte, error) bool) {
		afterCRLF := true // or after the beginning of a line that was too long
		for {
			raw, err := r.rawLine(maxLine)
			_, long := err.(*LineTooLongError)
			if err != nil && !long {
				yield(nil, unexpected(err))
				return
			}
			line := trimEnd(raw)
			crlf := bytes.HasSuffix(raw, []byte("\r\n"))
			if string(line) == "." && !long && (bareLF || crlf && afterCRLF) {
				return
			}
			afterCRLF = crlf || long
			if !yield(opts.unstuff(line), err) {
				return
			}
		}
	}
}

// unstuff removes the leading dot of a complete line according to o.
func (o DotOptions) unstuff(line []byte) []byte {
	switch {
	case o.Unstuff == UnstuffAll && bytes.HasPrefix(line, []byte(".")),
		o.Unstuff == UnstuffDouble && bytes.HasPrefix(line, []byte("..")),
		o.Unstuff == UnstuffLone && string(line) == "..":
		return line[1:]
	}
	return line
}
