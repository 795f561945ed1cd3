package waisd

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/apdu"
)

// retrieve sends a part of a document or a diagnostic, and reports whether to continue.
func (c *session) retrieve(m apdu.Search) bool {
	database, name, ok := c.s.locate(m.Document)
	if !ok {
		return c.send(refuse(apdu.OutOfRange, "Missing DocID in request").Encode())
	}
	file, size, err := c.s.open(database, name, m.Type)
	if err != nil {
		return c.send(refuse("S1", "Document not found").Encode())
	}
	defer file.Close()
	f := c.failureFor(m, size)
	packet := part(f.Fault, file, size, m).Encode()
	switch {
	case slices.Contains(c.s.opts.Gone, database+"/"+name):
		gone := refuse(apdu.OutOfRange, beyondEnd)
		gone.Seed = name
		return c.send(gone.Encode())
	case f.Fault == servers.Endless, f.Fault == servers.Short, f.Fault == servers.Abort:
		// the packet already contains the effect
		return c.send(packet)
	}
	b, ok := c.ContentWith(f, -1)
	if !ok {
		return true
	}
	if !c.sendTo(b, packet) {
		return false
	}
	_, err = b.End()
	return err == nil
}

// failureFor returns the failure for a part of a document. It is the failure armed when the retrieval of
// the document began, unless its offset is after this part.
func (c *session) failureFor(m apdu.Search, size int64) servers.Failure {
	if m.From == 0 || !bytes.Equal(m.Document, c.document) {
		c.document, c.failure = m.Document, c.Take()
	}
	f := c.failure
	if f.Fault != servers.Noise && f.Place(size) >= m.To {
		return servers.Failure{}
	}
	f.After = 0 // in the middle of the part
	return f
}

const beyondEnd = "Request out of range"

// part returns the response with a part of a document.
func part(f servers.Fault, file io.ReadSeeker, size int64, m apdu.Search) apdu.Response {
	switch {
	case f == servers.Endless:
		text := bytes.Repeat([]byte("again "), int(m.To-m.From)/6+1)
		return apdu.Response{HasText: true, Text: text[:m.To-m.From]}
	case f == servers.Short, m.From > size:
		return refuse(apdu.OutOfRange, beyondEnd)
	case f == servers.Abort:
		return refuse("S1", "The database is closed")
	}
	r := apdu.Response{HasText: true, Text: make([]byte, max(min(m.To, size)-m.From, 0))}
	if _, err := file.Seek(m.From, io.SeekStart); err != nil {
		return refuse("S1", err.Error())
	}
	if _, err := io.ReadFull(file, r.Text); err != nil {
		return refuse("S1", err.Error())
	}
	if m.To > size {
		r.Diagnostics = []apdu.Diagnostic{{Code: apdu.OutOfRange, Text: beyondEnd}}
	}
	return r
}

// refuse returns a response with only a diagnostic.
func refuse(code, text string) apdu.Response {
	return apdu.Response{Diagnostics: []apdu.Diagnostic{{Code: code, Text: text}}}
}

// unavailable returns freeWAIS's response for a missing database.
func unavailable(database string) apdu.Response {
	return refuse("S1", "The following database is not available: "+database)
}

type seekCloser interface {
	io.ReadSeeker
	io.Closer
}

type memory struct{ *strings.Reader }

func (memory) Close() error { return nil }

// open opens a document of a database, or the description of a database.
func (s *Server) open(database, name, docType string) (f seekCloser, size int64, err error) {
	if docType == "WSRC" {
		if !s.has(name) {
			return nil, 0, fs.ErrNotExist
		}
		text := s.source(name)
		return memory{strings.NewReader(text)}, int64(len(text)), nil
	}
	file, err := s.opts.Tree.Open(path.Join(database, name))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	seeker, ok := file.(seekCloser)
	if err != nil || info.IsDir() || !ok {
		file.Close()
		return nil, 0, fs.ErrNotExist
	}
	return seeker, info.Size(), nil
}
