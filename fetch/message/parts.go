package message

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/textproto"
	"strings"
)

// Limits of the structure of a message.
const (
	maxDepth = 50     // nested multiparts; a deeper one is a single part
	maxParts = 10_000 // parts of one message
)

// ErrTooManyParts is returned for a message of more than 10,000 parts.
var ErrTooManyParts = fmt.Errorf("message of more than %d parts", maxParts)

// ErrNoPart is returned by OpenPart and OpenContentID if the part does not exist.
var ErrNoPart = errors.New("no such part")

// A Part is a part of a message that is not a multipart itself. A message that is not a multipart has
// one part.
type Part struct {
	Number      int // from 1
	Header      textproto.MIMEHeader
	ContentType string            // in lower case; "text/plain" if the header has none
	Params      map[string]string // of the content type
	Name        string            // file name, for display; not safe as a path
	ContentID   string            // without angle brackets
	Attachment  bool              // Content-Disposition is "attachment"

	alternative int // number of the multipart/alternative around it; 0 for none
	raw         io.Reader
}

// Body returns the content, decoded from base64, quoted-printable, uuencode or yEnc. It can be read once,
// and only until the next part is requested. In base64 and uuencode it skips lines that are not encoded,
// because mailing lists append such lines.
func (p *Part) Body() io.Reader {
	return decodeTransfer(p.Header.Get("Content-Transfer-Encoding"), p.raw)
}

// Parts yields the parts of a message. The caller need not read them. A read error ends the
// sequence.
func Parts(r io.Reader) iter.Seq2[*Part, error] {
	return func(yield func(*Part, error) bool) {
		for w := newWalker(r); ; {
			p, err := w.next()
			if err == io.EOF || !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// OpenPart returns a part by its number, from 1. Reading its content reads from r.
func OpenPart(r io.Reader, number int) (*Part, error) {
	for p, err := range Parts(r) {
		if err != nil || p.Number == number {
			return p, err
		}
	}
	return nil, fmt.Errorf("%w: %d", ErrNoPart, number)
}

// OpenContentID is OpenPart for the part with the Content-ID id, without angle brackets (RFC 2392).
func OpenContentID(r io.Reader, id string) (*Part, error) {
	for p, err := range Parts(r) {
		if err != nil || p.ContentID == id {
			return p, err
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNoPart, id)
}

// A walker splits a message into parts, line by line. Its memory does not depend on the size of the
// message.
type walker struct {
	br     *bufio.Reader
	bounds []boundary // of the open multiparts, outermost first
	line   []byte     // the current line or piece, with its line break
	again  bool       // step returns line once more
	bol    bool       // line starts at the beginning of a line
	parts  int
	alts   int
	begun  bool
	err    error // io.EOF, or a read error
	hit    bool  // line is a boundary
	level  int   // index of the boundary in bounds
	closed bool  // it is a closing boundary
}

type boundary struct {
	delimiter   []byte // with the leading hyphens
	alternative int
}

func newWalker(r io.Reader) *walker {
	return &walker{br: bufio.NewReaderSize(r, 64<<10), bol: true}
}

// step reads a line, or a piece of a long one. It returns false at a boundary or at the end.
func (w *walker) step() bool {
	if w.err != nil || w.hit {
		return false
	}
	if !w.again {
		w.bol = len(w.line) == 0 || w.line[len(w.line)-1] == '\n'
		line, err := w.br.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull && len(line) == 0 {
			w.err = err
			return false
		}
		w.line = line
	}
	w.again = false
	if w.bol && bytes.HasPrefix(w.line, []byte("--")) {
		w.hit = w.match(bytes.TrimRight(w.line, " \t\r\n"))
	}
	return !w.hit
}

// match reports whether line is a boundary of an open multipart. If several match, it is that of the
// innermost.
func (w *walker) match(line []byte) bool {
	for i := len(w.bounds) - 1; i >= 0; i-- {
		rest, ok := bytes.CutPrefix(line, w.bounds[i].delimiter)
		if ok && (len(rest) == 0 || string(rest) == "--") {
			w.level, w.closed = i, len(rest) > 0
			return true
		}
	}
	return false
}

// next returns the next part. The error is io.EOF after the last.
func (w *walker) next() (*Part, error) {
	for {
		if w.begun {
			for w.step() { // skip the unread rest of the last part, or text between parts
			}
			if w.err != nil {
				return nil, w.err
			}
			w.hit = false
			w.bounds = w.bounds[:w.level+1] // drop inner multiparts that were not closed
			if w.closed {
				w.bounds = w.bounds[:w.level]
				continue
			}
		}
		head := w.head(!w.begun)
		w.begun = true
		if w.err != nil && w.err != io.EOF {
			return nil, w.err
		}
		if p := w.part(ParseHeader(head)); p != nil {
			if w.parts++; w.parts > maxParts {
				return nil, ErrTooManyParts
			}
			p.Number = w.parts
			return p, nil
		}
	}
}

// head reads a header. It is empty if the first line is not a field. In a part, a later line that is
// not a field begins the body, as in Python's email package: the blank line is missing.
func (w *walker) head(top bool) []byte {
	var head []byte
	for w.step() {
		blank := len(bytes.TrimRight(w.line, "\r\n")) == 0
		switch {
		case blank && top && len(head) == 0:
			continue // skip empty lines before a message, but not before a part
		case blank:
			return head
		case (len(head) == 0 || !top && w.bol && !isFolded(w.line)) && !w.beginsHeader(top),
			len(head)+len(w.line) > MaxHeader:
			w.again = true
			return head
		}
		head = append(head, w.line...)
	}
	return head
}

// isFolded reports whether a line continues a field (RFC 5322, section 2.2.3).
func isFolded(line []byte) bool { return line[0] == ' ' || line[0] == '\t' }

func (w *walker) beginsHeader(top bool) bool {
	name, _, ok := bytes.Cut(w.line, []byte(":"))
	return ok && isFieldName(bytes.TrimRight(name, " \t")) ||
		top && (bytes.HasPrefix(w.line, []byte("From ")) || bytes.HasPrefix(w.line, []byte(">From ")))
}

// part returns the part after the header h. If h begins a multipart, it opens that and returns nil.
func (w *walker) part(h textproto.MIMEHeader) *Part {
	p := &Part{Header: h}
	p.ContentType, p.Params = parseType(h.Get("Content-Type"), "text/plain")
	if n := len(w.bounds); n > 0 {
		p.alternative = w.bounds[n-1].alternative
	}
	if strings.HasPrefix(p.ContentType, "multipart/") && len(w.bounds) < maxDepth {
		if delimiter := w.delimiter(p.Params["boundary"]); delimiter != nil {
			b := boundary{delimiter, p.alternative}
			if p.ContentType == "multipart/alternative" {
				w.alts++
				b.alternative = w.alts
			}
			w.bounds = append(w.bounds, b)
			return nil
		}
	}
	disposition, params := parseType(h.Get("Content-Disposition"), "")
	p.Attachment = disposition == "attachment"
	if p.Name = Decode(params["filename"]); p.Name == "" {
		p.Name = Decode(p.Params["name"])
	}
	p.ContentID = strings.Trim(h.Get("Content-Id"), "<> \t")
	p.raw = &leaf{w: w}
	return p
}

// delimiter returns the boundary line of a multipart. If the header has no boundary parameter, it is
// the first line that begins with two hyphens within the next 4 KiB, or nil.
func (w *walker) delimiter(param string) []byte {
	if param != "" {
		return []byte("--" + strings.TrimRight(param, " "))
	}
	ahead, _ := w.br.Peek(4 << 10)
	for line := range bytes.Lines(ahead) {
		if line = bytes.TrimRight(line, " \t\r\n"); len(line) > 2 && bytes.HasPrefix(line, []byte("--")) {
			return bytes.Clone(line)
		}
	}
	return nil
}

// parseType parses a content type or disposition and its parameters. If value is malformed, it
// returns the readable parts, and otherwise in place of a missing type.
func parseType(value, otherwise string) (string, map[string]string) {
	kind, params, err := mime.ParseMediaType(value)
	whole := otherwise == "" || strings.Contains(kind, "/")
	if whole && (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter) && params != nil) {
		return kind, params
	}
	kind, rest, _ := strings.Cut(value, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if kind == "" || otherwise != "" && !strings.Contains(kind, "/") {
		kind = otherwise
	}
	params = make(map[string]string)
	for param := range strings.SplitSeq(rest, ";") {
		name, value, ok := strings.Cut(param, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if _, seen := params[name]; ok && !seen {
			params[name] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return kind, params
}

// A leaf reads the content of a part. The line break before a boundary belongs to the boundary (RFC
// 2046, section 5.1.1).
type leaf struct {
	w     *walker
	buf   []byte
	out   []byte // unread bytes of buf
	held  []byte // the last line break, which is content unless a boundary follows
	ended bool
}

func (l *leaf) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(l.out) == 0 {
			if n > 0 && l.w.br.Buffered() == 0 {
				break
			}
			if l.ended || !l.fill() {
				break
			}
			continue
		}
		m := copy(p[n:], l.out)
		l.out = l.out[m:]
		n += m
	}
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	if l.w.err != nil && l.w.err != io.EOF {
		return 0, l.w.err
	}
	return 0, io.EOF
}

// fill reads the next line. It returns false at the end of the part.
func (l *leaf) fill() bool {
	l.buf = append(l.buf[:0], l.held...)
	l.held = l.held[:0]
	if l.w.step() {
		line := l.w.line
		end := len(line)
		if body, ok := bytes.CutSuffix(line, []byte("\n")); ok {
			end = len(bytes.TrimSuffix(body, []byte("\r")))
		}
		l.buf = append(l.buf, line[:end]...)
		l.held = append(l.held, line[end:]...)
	} else if l.ended = true; l.w.hit {
		l.buf = l.buf[:0]
	}
	l.out = l.buf
	return !l.ended || len(l.out) > 0
}
