package wais

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/apdu"
)

const (
	// chunkSize is the number of bytes to request at once unless the server supports less. It is
	// nearly the size of a freeWAIS record. The server opens the file for each request, ten times
	// more often with the 10,000 bytes that most clients request.
	chunkSize = maxRecord - overhead
	// overhead limits the part of a response that is not document text, in bytes.
	overhead = 2048
	// minChunk is the size at which fill stops reducing chunks that do not fit into a response, in
	// bytes.
	minChunk = 500
)

type document struct {
	database string
	id       []byte
	docType  string
	types    []string // to choose from
	size     int64    // the size in the URL, in bytes; -1 if it has none
}

func documentOf(w uri.WAIS, req *fetch.Request) (document, error) {
	doc := document{database: w.Database, id: apdu.IDFromURL(w),
		types: strings.Split(w.DocType, ","), size: -1}
	if _, size, ok := w.RawFields(); ok {
		doc.size = size
	}
	var err error
	doc.docType, err = chooseType(w.DocType, req)
	return doc, err
}

// name returns a file name for the document: the last part of the path in the server's identifier,
// which is "start end path" in freeWAIS. The file of one type stands for those of the others, which
// have their types as suffixes.
func (d document) name() string {
	name := fetch.SafeName(wire.Text(uri.WAIS{WPath: apdu.IDPath(d.id, -1)}.LocalPath()))
	if base, suffix, ok := cutSuffix(name); ok && suffix != d.docType && slices.Contains(d.types, suffix) {
		name = base + "." + d.docType
	}
	return name
}

func cutSuffix(name string) (base, suffix string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

func (d document) chunk(offset, n int64) apdu.Search {
	return apdu.Search{Database: d.database, Document: d.id, From: offset, To: offset + n,
		Type: cmp.Or(d.docType, typeText)} // a type is required
}

// document opens a document. It retrieves the first chunk to check that the document exists.
func (s *session) document(req *fetch.Request, doc document) (*fetch.Response, error) {
	b := &documentBody{session: s, doc: doc, offset: req.Range.Offset, left: -1, chunk: chunkSize}
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
	s.conn.SetIdle(s.times.Idle)
	resp := &fetch.Response{
		Meta: fetch.Meta{ContentType: mediaType(doc.docType), Size: -1,
			Text: mediaType(doc.docType) == "text/plain", Range: req.Range, Name: doc.name()},
		Body: b,
	}
	if req.Op == fetch.OpStat {
		s.Close()
		resp.Range = fetch.Range{}
		resp.Body = fetch.NoBody
	}
	return resp, nil
}

// A documentBody reads a document chunk by chunk. It ends with an empty chunk or with the diagnostic
// for a range beyond the end. A short chunk is not the end because servers may return less than
// requested.
type documentBody struct {
	*session
	doc          document
	offset       int64 // of the next request
	left         int64 // number of bytes left to request; -1 for all
	chunk        int64
	buf          []byte
	started, end bool
	endErr       error // returned at the end if the document is too short
	err          error
}

func (b *documentBody) Read(p []byte) (int, error) {
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

// An empty packet means that the response does not fit into the server's buffer.
func (b *documentBody) fill() error {
	if b.end || b.left == 0 {
		return b.finalError()
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
		return fetch.ErrServer.Errorf("byte %d of the document: %w", b.offset, err)
	case err != nil:
		return truncated(err)
	}
	return b.handleResponse(found, n)
}

func (b *documentBody) handleResponse(found apdu.Response, requested int64) error {
	got := int64(len(found.Text))
	pastEnd := slices.ContainsFunc(found.Diagnostics,
		func(d apdu.Diagnostic) bool { return d.Code == apdu.OutOfRange })
	switch {
	case got > requested:
		return violation(fmt.Errorf("received %d bytes, requested %d", got, requested))
	case !found.HasText && !pastEnd:
		return missingDocument(found)
	case got == 0 && !b.started:
		// "Out of range" at offset 0 means that the document is empty or has been removed.
		if err := refusal(found); err != nil && (b.offset > 0 || !errors.Is(err, fetch.ErrRange)) {
			return err
		}
		if b.offset == 0 && b.doc.size > 0 {
			return fetch.ErrNotFound.Errorf("the document is empty or was removed; its size in the URL is "+
				"%d bytes", b.doc.size)
		}
	}
	b.started = true
	b.buf = found.Text
	b.offset += got
	if b.left > 0 {
		b.left -= got
	}
	b.end = pastEnd || got == 0
	if b.end && b.left != 0 && b.offset < b.doc.size {
		b.endErr = fetch.ErrTruncated.Retryf("received %d of %d bytes", b.offset, b.doc.size)
	}
	if got == 0 {
		return b.finalError()
	}
	return nil
}

func (b *documentBody) finalError() error { return cmp.Or(b.endErr, io.EOF) }

// Servers report an unknown identifier as a permanent error, which becomes ErrNotFound.
func missingDocument(found apdu.Response) error {
	err := notFound(found, "no such document")
	var e *fetch.Error
	if errors.As(err, &e) && e.Code == fetch.ErrServer {
		e.Code = fetch.ErrNotFound
	}
	return err
}

func truncated(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fetch.ErrTruncated.Retryf("connection closed within the document: %w", io.ErrUnexpectedEOF)
	}
	return err
}
