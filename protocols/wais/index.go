package wais

import (
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/apdu"
)

// A Hit describes a document in a search result. It is the Sys of an entry in a listing. Unknown
// numbers are -1.
type Hit struct {
	Score    int64    `fact:"score"` // 0 to 1000
	Lines    int64    `fact:"lines"`
	Types    []string `fact:"types,optional"`
	Headline string   `fact:"headline"`
	Date     string   `fact:"date,optional"` // as sent by the server, usually yymmdd
	Source   string   `fact:"source,optional"`
	City     string   `fact:"city,optional"`
	Database string   `fact:"database,optional"`
}

// EntryFacts implements [fetch.EntryRecord].
func (h Hit) EntryFacts() fetch.Facts { return driver.FactsOf("wais", "", h) }

// noResults is the beginning of the headline of the only hit if there are no results.
const noResults = "Search produced no result"

// Every record begins with "source". An empty search would describe the directory itself.
func directoryWords(w uri.WAIS) string {
	if w.Search != "" {
		return w.Search
	}
	return "source"
}

func (s *session) index(w uri.WAIS, maxHits int) (*fetch.Response, error) {
	m := apdu.Search{Database: w.Database, Words: w.Search, MaxHits: uint32(maxHits)}
	if w.Database == "" {
		m.Words = directoryWords(w)
	}
	found, err := s.search(m)
	if err != nil {
		return nil, err
	}
	s.Close()
	hits := found.Hits
	if len(hits) == 1 && hits[0].Score <= 0 && strings.HasPrefix(hits[0].Headline, noResults) {
		hits = nil
	}
	if err := refusal(found); err != nil && !hasScore(hits) {
		// The hits in a response with a syntax error are the server's catalogue, not results.
		return nil, err
	}
	if len(hits) >= maxHits && w.Database != "" {
		s.log.Warn("the search found as many documents as were requested; there may be more")
	}
	resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing,
		ContentType: "text/uri-list", Size: -1}}
	driver.SetParts(resp, func(yield func(driver.Part, error) bool) {
		for _, h := range hits {
			e := s.entry(w.Database, h)
			if !yield(driver.URIListPart(e.Name, e), nil) {
				return
			}
		}
	}, nil)
	return resp, nil
}

func hasScore(hits []apdu.Hit) bool {
	return slices.ContainsFunc(hits, func(h apdu.Hit) bool { return h.Score > 0 })
}

// The URL has the address of this server, because only it is known to have the document.
func (s *session) entry(database string, h apdu.Hit) fetch.Entry {
	e := fetch.Entry{
		Name: strings.TrimSpace(wire.Text(h.Headline)), Kind: fetch.EntryObject, Rel: "item",
		Size: h.Length, ModTime: hitDate(h.Date), ContentType: mediaType(firstType(h.Types)),
		Sys: Hit{Score: h.Score, Lines: h.Lines, Types: h.Types, Headline: wire.Text(h.Headline),
			Date: h.Date, Source: wire.Text(h.Source), City: wire.Text(h.City), Database: database},
	}
	if link, err := uri.ParseRef(h.Headline); hasType(h, typeURL) && err == nil &&
		link.IsAbs() {
		e.URL, e.ContentType = link, ""
		return e
	}
	if database == "" {
		database = directory
	}
	u, err := uri.WAIS{
		Host: s.base.Host(), Port: s.base.Port(port), Database: database,
		DocType: strings.Join(h.Types, ","), WPath: apdu.IDPath(h.ID, h.Length),
	}.URI()
	if err != nil {
		e.Kind = fetch.EntryText // too long for a URL
	}
	e.URL = u
	return e
}

// directory is the name of the database that lists the databases of a server.
const directory = "INFO"

// hitDate parses "yymmdd". Years below 69 are in the 21st century.
func hitDate(s string) time.Time {
	t, _ := time.Parse("060102", s)
	return t
}
