package waisd

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/apdu"
)

// Document returns the URL of a document, given its database and its path there. With FreeWAIS, the
// URL includes the length of the document.
func (s *Server) Document(database, name string) string {
	length := int64(-1)
	if s.opts.FreeWAIS {
		length = s.length(database, name)
	}
	return documentURL(s.Addr, database, s.documentID(database, name), length)
}

// DocumentURL is Document for a server without FreeWAIS at addr, in another process.
func DocumentURL(addr, database, name string) string {
	return documentURL(addr, database, documentID(addr, database, name), -1)
}

func documentURL(addr, database string, id []byte, length int64) string {
	return fmt.Sprintf("wais://%s/%s/TEXT/%s", addr, uri.Escape(database), apdu.IDPath(id, length))
}

// documentID returns an identifier with the fields needed to find a document.
func documentID(server, database, name string) []byte {
	return apdu.EncodeID([]uri.WAISField{
		{Tag: 1, Value: server}, {Tag: 2, Value: database}, {Tag: 3, Value: "0 0 " + name}, {Tag: 7,
			Value: "\x00"},
	})
}

// Paths of freeWAIS's databases and documents.
const (
	databases = "/srv/db/"
	documents = "/srv/doc/"
)

// documentID returns an identifier with all the fields that freeWAIS includes.
func (s *Server) documentID(database, name string) []byte {
	if !s.opts.FreeWAIS {
		return documentID(s.Addr, database, name)
	}
	id := []uri.WAISField{{Tag: 1, Value: s.Addr}, {Tag: 2, Value: databases + database},
		{Tag: 3, Value: fmt.Sprintf("0 %d %s%s/%s", max(s.length(database, name), 0), documents, database,
			name)}}
	for _, f := range id[:3] { // the distributor equals the author
		id = append(id, uri.WAISField{Tag: f.Tag + 3, Value: f.Value})
	}
	return apdu.EncodeID(append(id, uri.WAISField{Tag: 7, Value: "\x00"}))
}

// length returns the length of a document, or -1 if it is missing.
func (s *Server) length(database, name string) int64 {
	file, size, err := s.open(database, name, docType(name))
	if err != nil {
		return -1
	}
	file.Close()
	return size
}

// locate returns the database and name in an identifier.
func (s *Server) locate(id []byte) (database, name string, ok bool) {
	fields, _, ok := uri.WAIS{WPath: apdu.IDPath(id, -1)}.RawFields()
	if !ok || len(fields) < 3 {
		return "", "", false
	}
	local := strings.SplitN(fields[2].Value, " ", 3)
	database, name = strings.TrimPrefix(fields[1].Value, databases), local[len(local)-1]
	return database, strings.TrimPrefix(name, documents+database+"/"), true
}

// fileHit returns the search result for a document.
func (s *Server) fileHit(database, name string, content []byte, score int) apdu.Hit {
	h := apdu.Hit{
		ID: s.documentID(database, name), Score: int64(score), Length: int64(len(content)),
		Lines: int64(bytes.Count(content, []byte("\n"))), Types: []string{docType(name)},
		Source: database, Date: "950401", Headline: path.Base(name) + "   /" + database,
	}
	if s.opts.FreeWAIS {
		h.Source, h.Date = databases+database, "0"
		h.Headline = path.Base(name) + "   " + documents +
			strings.TrimPrefix(path.Dir(database+"/"+name)+"/", "./")
	}
	return h
}
