package wais

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
	"github.com/urlget/urlget/protocols/wais/apdu"
)

// A Hit is what a server tells of a document it found: the Sys of an entry.
// Numbers that it did not tell are -1.
type Hit struct {
	Score    int64    `json:"score"` // 0 to 1000
	Lines    int64    `json:"lines"`
	Types    []string `json:"types,omitempty"`
	Headline string   `json:"headline"`
	Date     string   `json:"date,omitempty"` // yymmdd, as sent
	Source   string   `json:"source,omitempty"`
	City     string   `json:"city,omitempty"`
	Database string   `json:"database,omitempty"`
}

// nothing is how the headline of the only hit begins when there is none.
const nothing = "Search produced no result"

// directoryWords is what to ask the directory of databases. A server answers
// an empty question with the description of the directory itself, but the
// word "source" begins every record in it.
func directoryWords(w uri.WAIS) string {
	if w.Search != "" {
		return w.Search
	}
	return "source"
}

// index delivers the hits of a search, or the databases of a server.
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
	if len(hits) == 1 && hits[0].Score <= 0 && strings.HasPrefix(hits[0].Headline, nothing) {
		hits = nil
	}
	if err := refusal(found); err != nil && !hasScore(hits) {
		// Hits that come with a syntax error are the catalogue, not an answer.
		return nil, err
	}
	entries := make([]fetch.Entry, len(hits))
	for i, h := range hits {
		entries[i] = s.entry(w.Database, h)
	}
	resp := &fetch.Response{
		Meta: fetch.Meta{Kind: fetch.KindListing, ContentType: "text/uri-list", Size: -1},
		Body: io.NopCloser(strings.NewReader(uriList(entries))),
	}
	resp.Entries = func(yield func(fetch.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
	return resp, nil
}

func hasScore(hits []apdu.Hit) bool {
	for _, h := range hits {
		if h.Score > 0 {
			return true
		}
	}
	return false
}

// entry describes a hit. Its URL is at this server, whatever server the
// identifier names, as it is this one that knows the document.
func (s *session) entry(database string, h apdu.Hit) fetch.Entry {
	e := fetch.Entry{
		Name: strings.TrimSpace(wire.Text(h.Headline)), Kind: fetch.EntryObject, Rel: "item",
		Size: h.Length, ModTime: hitDate(h.Date), ContentType: mediaType(first(h.Types)),
		Sys: Hit{Score: h.Score, Lines: h.Lines, Types: h.Types, Headline: wire.Text(h.Headline),
			Date: h.Date, Source: wire.Text(h.Source), City: wire.Text(h.City), Database: database},
	}
	if link, err := uri.Parse(strings.TrimSpace(h.Headline)); hasType(h, typeURL) && err == nil && link.IsAbs() {
		e.URL, e.ContentType = link, ""
		return e
	}
	if database == "" {
		database = directory
	}
	e.URL = uri.WAIS{
		Host: s.base.Host(), Port: s.base.Port(port), Database: database,
		DocType: strings.Join(h.Types, ","), WPath: apdu.IDPath(h.ID, h.Length),
	}.URI()
	return e
}

// directory is the name under which servers keep their list of databases.
const directory = "INFO"

// hitDate reads "yymmdd". WAIS was written in this century's childhood: years
// below 70 belong to it.
func hitDate(s string) time.Time {
	t, err := time.Parse("060102", s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// uriList writes entries as text/uri-list (RFC 2483, section 5).
func uriList(entries []fetch.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "# %s\r\n%s\r\n", fetch.Printable(e.Name), e.URL)
	}
	return b.String()
}
