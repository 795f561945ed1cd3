package wire

import (
	"bytes"
	"io"
	"iter"
)

// Unstuffing says which lines of a dot-terminated block lose their first dot.
type Unstuffing uint8

const (
	// UnstuffAll removes the first dot of each line that begins with one (RFC 3977, section 3.1.1;
	// RFC 1939, section 3).
	UnstuffAll Unstuffing = iota
	// UnstuffDouble removes it only from lines that begin with two dots, for servers that stuff
	// nothing, such as dictd: a line ".profile" stays as it is.
	UnstuffDouble
	// UnstuffLone removes it only from a line that is "..", for servers that protect nothing but
	// the line that would end the block, such as the Gopher server of Minnesota.
	UnstuffLone
	// UnstuffNone changes nothing.
	UnstuffNone
)

// DotOptions are options for reading a dot-terminated block.
type DotOptions struct {
	Unstuff Unstuffing
	// LenientEnd lets a bare LF end a line, so that a dot between bare LFs ends the block, as does
	// a dot that is the last byte of the stream. Otherwise only CRLF "." CRLF does.
	LenientEnd bool
}

// A DotReader reads the content of a block that ends with a line of a single dot. Line ends stay as
// they were sent. Read returns io.EOF after the dot, and io.ErrUnexpectedEOF if the stream ended
// without it. Lines may be of any length.
//
// What follows the block can be read from the Reader once the DotReader returned io.EOF.
type DotReader struct {
	r    *Reader
	opts DotOptions
	bol  bool // at the beginning of a line
	cr   bool // the last byte was CR
	done bool
}

// Dot returns a reader of the block that begins here.
func (r *Reader) Dot(opts DotOptions) *DotReader {
	return &DotReader{r: r, opts: opts, bol: true}
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

// next returns up to max buffered bytes of content, or an error. They stay in the buffer until
// advance.
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

// beforeDot returns the line end after which a dot matters, and the dot.
func (d *DotReader) beforeDot() []byte {
	if d.opts.LenientEnd {
		return []byte("\n.")
	}
	return []byte("\r\n.")
}

// dotLine deals with a dot at the beginning of a line: it reads the end of the block or a stuffed
// dot. After it the buffer holds at least one byte of the line, which is content.
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
	case lenient && b[1] == '\n':
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

// stuffed reports whether the dot at the beginning of this line, which does not end the block, is
// to be removed.
func (d *DotReader) stuffed() (bool, error) {
	switch d.opts.Unstuff {
	case UnstuffAll:
		return true, nil
	case UnstuffDouble:
		return d.follows("..")
	case UnstuffLone:
		ok, err := d.follows("..\r\n")
		if !ok && err == nil && d.opts.LenientEnd {
			ok, err = d.follows("..\n")
		}
		return ok, err
	}
	return false, nil
}

// follows reports whether the stream goes on with s. It waits for no more bytes than it needs to
// tell.
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

// end reads the n bytes of the last line.
func (d *DotReader) end(n int) error {
	d.r.br.Discard(n)
	d.done = true
	return io.EOF
}

// advance takes content that next returned out of the buffer.
func (d *DotReader) advance(run []byte) {
	if len(run) == 0 {
		return
	}
	last := run[len(run)-1]
	afterCR := d.cr
	if len(run) > 1 {
		afterCR = run[len(run)-2] == '\r'
	}
	d.bol = last == '\n' && (afterCR || d.opts.LenientEnd)
	d.cr = last == '\r'
	d.r.br.Discard(len(run))
}

// DotLines iterates over the lines of the block that begins here, without their ends, which may be
// bare LFs, and with dots removed as opts says. A slice is valid until the next step. A line of more
// than maxLine bytes (0: as for the Reader; at most 64 KiB) is yielded cut off, with a
// *LineTooLongError, and the iteration can go on. Every other error ends it; io.ErrUnexpectedEOF
// says that the dot was missing. A loop that is left early leaves the rest of the block unread.
func (r *Reader) DotLines(opts DotOptions, maxLine int) iter.Seq2[[]byte, error] {
	if maxLine <= 0 {
		maxLine = r.maxLine
	}
	maxLine = min(maxLine, r.br.Size()-2)
	return func(yield func([]byte, error) bool) {
		afterCRLF := true // or after a line whose end was not seen
		for {
			raw, err := r.rawLine(maxLine)
			_, long := err.(*LineTooLongError)
			if err != nil && !long {
				yield(nil, unexpected(err))
				return
			}
			line := trimEnd(raw)
			crlf := bytes.HasSuffix(raw, []byte("\r\n"))
			if string(line) == "." && !long && (opts.LenientEnd || crlf && afterCRLF) {
				return
			}
			afterCRLF = crlf || long
			if !yield(opts.unstuff(line), err) {
				return
			}
		}
	}
}

// unstuff removes the first dot of a whole line as the options say.
func (o DotOptions) unstuff(line []byte) []byte {
	switch {
	case o.Unstuff == UnstuffAll && bytes.HasPrefix(line, []byte(".")),
		o.Unstuff == UnstuffDouble && bytes.HasPrefix(line, []byte("..")),
		o.Unstuff == UnstuffLone && string(line) == "..":
		return line[1:]
	}
	return line
}
