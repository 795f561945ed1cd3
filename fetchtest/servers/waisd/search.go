package waisd

import (
	"bytes"
	"io/fs"
	"path"
	"strings"

	"github.com/urlget/urlget/internal/codec/apdu"
)

// search returns the files whose name or content contains one of the words.
func (s *Server) search(m apdu.Search) apdu.Response {
	found := s.find(m)
	if s.opts.FreeWAIS {
		found.Seed = m.Words
	}
	return found
}

func (s *Server) find(m apdu.Search) apdu.Response {
	words := strings.Fields(strings.ToLower(m.Words))
	switch {
	case m.Database == "" || m.Database == "INFO":
		return s.searchDirectory(words)
	case !s.has(m.Database):
		return unavailable(m.Database)
	case len(words) == 0:
		return apdu.Response{Hits: []apdu.Hit{s.sourceHit(m.Database, 1000),
			s.catalogue(m.Database, "Catalogue for database: ")}}
	}
	var found apdu.Response
	fs.WalkDir(s.opts.Tree, m.Database, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || len(found.Hits) >= int(m.MaxHits) {
			return nil
		}
		content, _ := fs.ReadFile(s.opts.Tree, name)
		score := 0
		for _, w := range words {
			if strings.Contains(strings.ToLower(name), w) ||
				bytes.Contains(bytes.ToLower(content), []byte(w)) {
				score += 1000 / len(words)
			}
		}
		if score > 0 {
			found.Hits = append(found.Hits,
				s.fileHit(m.Database, strings.TrimPrefix(name, m.Database+"/"), content, score))
		}
		return nil
	})
	if found.Hits == nil {
		found.Hits = []apdu.Hit{s.catalogue(m.Database,
			"Search produced no result. Here's the Catalog for database: ")}
	}
	return found
}

func (s *Server) searchDirectory(words []string) apdu.Response {
	var found apdu.Response
	for _, database := range s.databases() {
		text := strings.ToLower(s.source(database))
		for _, w := range words {
			if strings.Contains(text, w) {
				found.Hits = append(found.Hits, s.sourceHit(database, 500))
				break
			}
		}
	}
	if found.Hits == nil {
		found.Hits = []apdu.Hit{s.catalogue("INFO",
			"Search produced no result. Here's the Catalog for database: ")}
	}
	return found
}

func (s *Server) sourceHit(database string, score int64) apdu.Hit {
	return apdu.Hit{
		ID: s.documentID("INFO", database), Score: score, Length: int64(len(s.source(database))),
		Types: []string{"WSRC"}, Source: "INFO", Date: "0", Headline: "Information on database: " + database,
	}
}

func (s *Server) catalogue(database, headline string) apdu.Hit {
	return apdu.Hit{ID: s.documentID(database, "catalogue"), Types: []string{"TEXT"}, Date: "0",
		Source: database, Headline: headline + database}
}

// docType returns the type of a file by its extension.
func docType(name string) string {
	switch path.Ext(name) {
	case ".gif":
		return "GIF"
	case ".html":
		return "HTML"
	case ".ps":
		return "PS"
	}
	return "TEXT"
}
