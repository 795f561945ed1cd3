package wais

import (
	"errors"
	"fmt"
	"io"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/wais/apdu"
)

const (
	// chunkSize is what to ask for at once: the customary number of octets.
	chunkSize = 10_000
	// overhead is what a server's answer may hold beside the octets.
	overhead = 2048
	// minChunk is how small chunks get when the server's answers do not fit.
	minChunk = 500
)

// A document is what to retrieve.
type document struct {
	database string
	id       []byte
	docType  string
}

func documentOf(w uri.WAIS, accept []string) document {
	return document{database: w.Database, id: apdu.IDFromURL(w), docType: chooseType(w.DocType, accept)}
}

// chunk is the search that retrieves n octets from offset on.
func (d document) chunk(offset, n int64) apdu.Search {
	docType := d.docType
	if docType == "" {
		docType = typeText // a type must be there
	}
	return apdu.Search{Database: d.database, Document: d.id, Type: docType, From: offset, To: offset + n}
}

// document opens a document. The first chunk is fetched at once, so that its
// absence is told now.
func (s *session) document(req *fetch.Request, doc document) (*fetch.Response, error) {
	b := &body{session: s, doc: doc, offset: req.Range.Offset, left: -1, chunk: chunkSize}
	if s.size > overhead {
		b.chunk = min(b.chunk, s.size-overhead)
	}
	if req.Range.Length > 0 {
		b.left = req.Range.Length
	}
	if req.Op == fetch.OpStat {
		b.left = 1
	}
	if err := b.fill(); err != nil && err != io.EOF {
		return nil, err
	}
	s.wait(s.times.Idle)
	resp := &fetch.Response{
		Meta: fetch.Meta{ContentType: mediaType(doc.docType), Size: -1, Range: req.Range},
		Body: b,
	}
	if req.Op == fetch.OpStat {
		s.Close()
		resp.Range = fetch.Range{}
		resp.Body = fetch.NoBody
	}
	return resp, nil
}

// A body reads a document chunk by chunk. A short chunk ends it, as does the
// diagnostic that says that the range is beyond the end.
type body struct {
	*session
	doc          document
	offset       int64 // of what to ask for next
	left         int64 // octets still wanted; -1 for all
	chunk        int64
	buf          []byte
	started, end bool
	err          error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	for len(b.buf) == 0 {
		if b.err == nil {
			b.err = b.fill()
		}
		if b.err != nil {
			return 0, b.err
		}
	}
	n := copy(p, b.buf)
	b.buf = b.buf[n:]
	return n, nil
}

// fill asks for the next chunk. If the answer does not fit the server's
// buffer, which it says with an empty packet, it asks for less.
func (b *body) fill() error {
	if b.end || b.left == 0 {
		return io.EOF
	}
	n := b.chunk
	if b.left > 0 {
		n = min(n, b.left)
	}
	found, err := b.search(b.doc.chunk(b.offset, n))
	for errors.Is(err, apdu.ErrEmpty) && n > minChunk {
		n /= 4
		b.chunk = n
		found, err = b.search(b.doc.chunk(b.offset, n))
	}
	switch {
	case errors.Is(err, apdu.ErrEmpty):
		return &fetch.Error{Code: fetch.ErrServer, Err: fmt.Errorf("octet %d of the document: %w", b.offset, err)}
	case err != nil:
		return cutOff(err)
	}
	return b.take(found, n)
}

func (b *body) take(found apdu.Response, asked int64) error {
	got := int64(len(found.Text))
	beyond := false
	for _, d := range found.Diagnostics {
		beyond = beyond || d.Code == apdu.OutOfRange
	}
	switch {
	case got > asked:
		return violation(fmt.Errorf("%d octets came where %d were asked for", got, asked))
	case !found.HasText && !beyond:
		return missing(found)
	case got == 0 && !b.started:
		// At the start of the whole, "out of range" means an empty document.
		if err := refusal(found); err != nil && (b.offset > 0 || !errors.Is(err, fetch.ErrRange)) {
			return err
		}
	}
	b.started = true
	b.buf = found.Text
	b.offset += got
	if b.left > 0 {
		b.left -= got
	}
	b.end = beyond || got < asked
	if got == 0 {
		return io.EOF
	}
	return nil
}

// missing is the error for a document that the server cannot deliver. A
// permanent error is its way to say that it does not know the identifier.
func missing(found apdu.Response) error {
	err := notFound(found, "the server has no such document")
	var e *fetch.Error
	if errors.As(err, &e) && e.Code == fetch.ErrServer {
		e.Code = fetch.ErrNotFound
	}
	return err
}

// cutOff makes the end of a connection between chunks the truncation it is.
func cutOff(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
