// Package formdata encodes the answers to a form as multipart/form-data (RFC 7578). It reads files
// only while they are sent.
package formdata

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// A Part is the answer to one field of a form.
type Part struct {
	Name  string
	Value string // the answer, unless there is a File
	File  string // the path of a regular file to send
	// FileName is the name of the file in the request; "" means the base name of File. Without a
	// File, Value is sent as a file with this name.
	FileName string
	// ContentType is the content type of a file; "" means application/octet-stream.
	ContentType string
}

// A Body is an encoded form.
type Body struct {
	boundary string
	pieces   []piece
	size     int64
}

type piece struct {
	text []byte
	file string
}

// New returns a body with the parts in their order. It reads the sizes of files, but does not open
// them.
func New(parts []Part) (*Body, error) {
	b := &Body{}
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	b.boundary = w.Boundary()
	flush := func() {
		b.pieces = append(b.pieces, piece{text: bytes.Clone(text.Bytes())})
		b.size += int64(text.Len())
		text.Reset()
	}
	for _, p := range parts {
		out, err := w.CreatePart(p.header())
		if err != nil {
			return nil, err
		}
		if p.File == "" {
			io.WriteString(out, p.Value)
			continue
		}
		info, err := os.Stat(p.File)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file", p.File)
		}
		flush()
		b.pieces = append(b.pieces, piece{file: p.File})
		b.size += info.Size()
	}
	w.Close() // writes to memory
	flush()
	return b, nil
}

// escaper writes names as browsers do (RFC 7578, section 4.2, and the HTML standard).
var escaper = strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22")

func (p *Part) header() textproto.MIMEHeader {
	disposition := `form-data; name="` + escaper.Replace(p.Name) + `"`
	h := make(textproto.MIMEHeader)
	if p.File != "" || p.FileName != "" {
		name := cmp.Or(p.FileName, filepath.Base(p.File))
		disposition += `; filename="` + escaper.Replace(name) + `"`
		h.Set("Content-Type", cmp.Or(escaper.Replace(p.ContentType), "application/octet-stream"))
	}
	h.Set("Content-Disposition", disposition)
	return h
}

// SetBody makes b the body of req, with its content type and its size. Each call of req.GetBody
// returns a new reader, which opens files one after another.
func (b *Body) SetBody(req *fetch.Request) {
	req.Body, req.ContentLength = nil, b.size
	req.GetBody = func() (io.ReadCloser, error) { return &reader{left: b.pieces}, nil }
	header := make(textproto.MIMEHeader, len(req.Header)+1)
	maps.Copy(header, req.Header)
	header.Set("Content-Type", "multipart/form-data; boundary="+b.boundary)
	req.Header = header
}

// A reader reads the pieces. Close may be called concurrently with Read.
type reader struct {
	mu     sync.Mutex
	left   []piece
	now    io.Reader // reads the first of left; nil if it is not open
	file   *os.File  // the open file, or nil
	closed bool
}

func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		switch {
		case r.closed:
			return 0, os.ErrClosed
		case len(r.left) == 0:
			return 0, io.EOF
		}
		if err := r.begin(); err != nil {
			return 0, err
		}
		n, err := r.now.Read(p)
		if err != io.EOF {
			return n, err
		}
		r.end()
		r.left = r.left[1:]
		if n > 0 {
			return n, nil
		}
	}
}

func (r *reader) begin() (err error) {
	switch next := r.left[0]; {
	case r.now != nil:
	case next.file == "":
		r.now = bytes.NewReader(next.text)
	default:
		if r.file, err = os.Open(next.file); err == nil {
			r.now = r.file
		}
	}
	return err
}

func (r *reader) end() {
	if r.file != nil {
		r.file.Close()
	}
	r.now, r.file = nil, nil
}

func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.end()
	return nil
}
